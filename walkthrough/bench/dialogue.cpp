#include "walkthrough/bench/dialogue.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace flashbook::bench {

using Json = nlohmann::json;

Dialogue::Dialogue(std::vector<std::string> words) : program_(words.at(0)) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("no socket for " + program_);
  socket_ = ends[0];
  const timeval patience = {300, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error =
      ::posix_spawnp(&child_, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (error == 0) return;
  ::close(socket_);
  throw std::runtime_error(program_ + " cannot be started");
}

Dialogue::~Dialogue() {
  ::close(socket_);
  ::waitpid(child_, nullptr, 0);
}

std::string Dialogue::read_line() {
  std::array<char, 4096> buffer{};
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == std::string::npos) {
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got <= 0) throw std::runtime_error(program_ + " does not answer");
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  const std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Json Dialogue::ask(const Json& question) {
  const std::string line = question.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t more = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) throw std::runtime_error(program_ + " has stopped");
    sent += static_cast<std::size_t>(more);
  }
  const std::string text = read_line();
  Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object()) throw std::runtime_error(program_ + " answers '" + text + "'");
  if (answer.contains("error")) throw std::runtime_error(answer["error"].get<std::string>());
  return answer;
}

}  // namespace flashbook::bench
