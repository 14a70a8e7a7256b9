#include "walkthrough/plugin/python_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "cpu_reference/error.hpp"
#include "walkthrough/places.hpp"
#include "walkthrough/plugin/work.hpp"

namespace flashbook::plugin {
namespace {

/// Starts python3 with these ends of pipes as its input and output.
pid_t start(const std::string& script, const std::string& module, int in, int out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  std::array<std::string, 4> words = {"python3", "-B", script, module};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(),
                                    words[3].data(), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, "python3", &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0)
    throw InputError("--plugin is a Python module, and python3 cannot be started: install it");
  return process;
}

/// A pipe whose ends no program started later keeps open.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return ends;
}

}  // namespace

PythonProcess::PythonProcess(const std::string& module) {
  const std::array<int, 2> there = make_pipe(), back = make_pipe();
  to_ = there[1], from_ = back[0];
  process_ =
      start((book_folder() / "plugin" / "run_python.py").string(), module, there[0], back[1]);
  ::close(there[0]);
  ::close(back[1]);
}

PythonProcess::~PythonProcess() {
  ::close(to_);
  ::close(from_);
  ::waitpid(process_, nullptr, 0);
}

void PythonProcess::send(const std::string& bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(to_, bytes.data() + done, bytes.size() - done);
    if (written < 0) share_its_fate();
    done += static_cast<std::size_t>(written);
  }
}

std::string PythonProcess::receive(std::size_t bytes) const {
  std::string text(bytes, '\0');
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = ::read(from_, text.data() + done, bytes - done);
    if (got <= 0) share_its_fate();
    done += static_cast<std::size_t>(got);
  }
  return text;
}

nlohmann::json PythonProcess::receive_line() const {
  std::string line;
  do line += receive(1);
  while (line.back() != '\n');
  nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
  if (message.is_discarded()) std::_Exit(lost_socket);  // the module wrote there
  return message;
}

/// Whoever watches this process sees what happened to the other.
void PythonProcess::share_its_fate() const {
  int status = 0;
  ::waitpid(process_, &status, 0);
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
  }
  std::_Exit(WEXITSTATUS(status));
}

}  // namespace flashbook::plugin
