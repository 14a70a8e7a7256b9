#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "walkthrough/plugin/channel.hpp"
#include "walkthrough/plugin/work.hpp"

namespace flashbook::plugin {

using Clock = std::chrono::steady_clock;

/// A process that judges a plug-in, seen from its parent.
class Worker {
 public:
  /// Starts it. The parent must have started no other threads.
  Worker(const Task& task, double timeout);
  /// Ends it.
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
  /// Waits for its end and says, as a case's failure, how it came.
  std::string how_it_ended();
  /// Says, as a case's failure, what it has not done in time.
  std::string what_takes_too_long() const;

 private:
  struct Started {
    pid_t process;  // 0: it has ended, and was waited for
    int socket;
  };
  static Started start(const Task& task);
  void start_clock(double seconds);

  double timeout_;
  Started started_;
  Channel channel_;
  std::optional<std::size_t> number_;
  std::string pass_;         // in which the plug-in's code runs, or empty
  std::string latest_pass_;  // in which it ran
  Clock::time_point deadline_;
};

}  // namespace flashbook::plugin
