#include "walkthrough/plugin/worker.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::plugin {
namespace {

// Enough for any case that is not wrong, on a busy machine.
constexpr double seconds_to_load = 60, seconds_to_judge = 300;

/// The plug-in finds no file of ours to write to by mistake, such as the other processes' sockets.
void close_all_but(int socket) {
  const auto own = static_cast<unsigned>(socket);
  if (own > 3) ::close_range(3, own - 1, 0);
  ::close_range(own + 1, ~0U, 0);
}

}  // namespace

Worker::Started Worker::start(const Task& task, CrashSite& site) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw InputError("no file descriptor is left for the plug-in's process: raise ulimit -n");
  const pid_t process = ::fork();
  if (process == 0) {
    ::setpgid(0, 0);
    close_all_but(sockets[1]);
    work(sockets[1], task, site);
  }
  ::setpgid(process, process);  // whichever of the two comes first
  ::close(sockets[1]);
  if (process > 0) return {process, sockets[0]};
  ::close(sockets[0]);
  throw InputError("no process can be started for the plug-in: end some, or raise ulimit -u");
}

Worker::Worker(const Task& task, double timeout)
    : timeout_(timeout), started_(start(task, site_)), channel_(started_.socket) {
  start_clock(seconds_to_load);
}

Worker::~Worker() {
  ::kill(-started_.process, SIGKILL);
  ::kill(started_.process, SIGKILL);  // had it left its group
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

/// Of one that runs all is 0. It is not waited for: until then its number is nobody else's.
siginfo_t Worker::end() const {
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(started_.process), &info, WEXITED | WNOHANG | WNOWAIT);
  return info;
}

bool Worker::has_ended() const {
  return end().si_pid != 0;
}

/// Its socket is closed before it ends.
siginfo_t Worker::wait_for_end() const {
  for (int i = 0; i < 100 && !has_ended(); ++i) ::usleep(10'000);
  return end();
}

std::string Worker::how_it_ended() const {
  const siginfo_t info = wait_for_end();
  std::ostringstream text;
  if (info.si_pid == 0 || (info.si_code == CLD_EXITED && info.si_status == lost_socket))
    text << used_what_is_not_its_own;
  else if (info.si_code == CLD_EXITED)
    text << "it ended the process, with status " << info.si_status;
  else if (info.si_status == SIGKILL)
    text << "it was killed (signal 9), as a process is that takes too much memory";
  else
    text << "it crashed: " << ::strsignal(info.si_status) << " (signal " << info.si_status << ")";
  if (!pass_.empty())
    text << ", in " << pass_;
  else if (!latest_pass_.empty())
    text << ", after " << latest_pass_
         << " had returned: it may have written where nothing is its own";
  text << site_.text();
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
