#include "walkthrough/book/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace flashbook::book {
namespace {

/// Starts it with both its streams in the pipe, and deaf to no signal.
pid_t start(std::vector<std::string>& words, const std::array<int, 2>& pipe) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, pipe[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&files, pipe[0]);
  posix_spawn_file_actions_addclose(&files, pipe[1]);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);

  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  ::close(pipe[1]);
  if (error == 0) return child;
  ::close(pipe[0]);
  throw std::runtime_error(words[0] + " cannot be started");
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(file);
  return text;
}

}  // namespace

Child run_child(std::vector<std::string> words) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = start(words, pipe);
  std::string output = read_all(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), std::move(output)};
}

}  // namespace flashbook::book
