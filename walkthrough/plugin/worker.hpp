#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "walkthrough/plugin/channel.hpp"
#include "walkthrough/plugin/crash_site.hpp"
#include "walkthrough/plugin/work.hpp"

namespace flashbook::plugin {

using Clock = std::chrono::steady_clock;

/// As a case's failure: the processes do not hear, or understand, each other any more.
inline constexpr const char* used_what_is_not_its_own =
    "it closed, or wrote to, a file descriptor that is not its own";

/// A process that judges a plug-in, seen from its parent.
class Worker {
 public:
  /// Starts it. The parent must have started no other threads. Throws InputError if none can be
  /// started.
  Worker(const Task& task, double timeout);
  /// Ends it, and what the plug-in has started and left.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Channel& channel() { return channel_; }
  void give(std::size_t number);
  /// The number of the case that it was given and has not reported.
  std::optional<std::size_t> at_work_on() const { return number_; }

  /// Notes what its message says of what it is doing.
  void note(const nlohmann::json& message);
  /// When it will have taken too long.
  Clock::time_point deadline() const { return deadline_; }
  bool has_ended() const;
  /// Says, as a case's failure, how it came to its end or fell silent.
  std::string how_it_ended() const;
  /// Says, as a case's failure, what it has not done in time.
  std::string what_takes_too_long() const;

 private:
  struct Started {
    pid_t process;  // and its group's number
    int socket;
  };
  static Started start(const Task& task, CrashSite& site);
  void start_clock(double seconds);
  siginfo_t end() const;
  siginfo_t wait_for_end() const;

  double timeout_;
  CrashSite site_;
  Started started_;
  Channel channel_;
  std::optional<std::size_t> number_;
  std::string pass_;         // in which the plug-in's code runs, or empty
  std::string latest_pass_;  // in which it ran
  Clock::time_point deadline_;
};

}  // namespace flashbook::plugin
