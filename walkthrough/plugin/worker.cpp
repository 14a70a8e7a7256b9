#include "walkthrough/plugin/worker.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace flashbook::plugin {
namespace {

// Enough for any case that is not wrong, on a busy machine.
constexpr double seconds_to_load = 60, seconds_to_judge = 300;

}  // namespace

Worker::Started Worker::start(const Task& task) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw std::runtime_error("no socket for the plug-in's process");
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(sockets[0]);
    work(sockets[1], task);
  }
  ::close(sockets[1]);
  if (process > 0) return {process, sockets[0]};
  ::close(sockets[0]);
  throw std::runtime_error("no process can be started for the plug-in");
}

Worker::Worker(const Task& task, double timeout)
    : timeout_(timeout), started_(start(task)), channel_(started_.socket) {
  start_clock(seconds_to_load);
}

Worker::~Worker() {
  if (started_.process == 0) return;
  ::kill(started_.process, SIGKILL);
  ::waitpid(started_.process, nullptr, 0);
}

void Worker::start_clock(double seconds) {
  const std::chrono::duration<double> allowed(seconds);
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(allowed);
}

void Worker::give(std::size_t number) {
  number_ = number;
  latest_pass_.clear();
  channel_.send(number);
  start_clock(seconds_to_judge);
}

void Worker::note(const nlohmann::json& message) {
  if (message.contains("calling")) latest_pass_ = pass_ = message["calling"];
  if (message.contains("returned")) pass_.clear();
  if (message.contains("report")) number_.reset();
  start_clock(pass_.empty() ? seconds_to_judge : timeout_);
}

std::string Worker::how_it_ended() {
  int status = 0;
  ::waitpid(started_.process, &status, 0);
  started_.process = 0;
  std::ostringstream text;
  if (WIFSIGNALED(status))
    text << "it crashed: " << ::strsignal(WTERMSIG(status)) << " (signal " << WTERMSIG(status)
         << ")";
  else
    text << "it ended the process, with status " << WEXITSTATUS(status);
  if (!pass_.empty())
    text << ", in " << pass_;
  else if (!latest_pass_.empty())
    text << ", after " << latest_pass_
         << " had returned: it may have written where nothing is its own";
  return text.str();
}

std::string Worker::what_takes_too_long() const {
  std::ostringstream text;
  if (!pass_.empty())
    text << pass_ << " did not return within " << timeout_ << " s";
  else
    text << "it could not be judged within " << seconds_to_judge << " s";
  return text.str();
}

}  // namespace flashbook::plugin
