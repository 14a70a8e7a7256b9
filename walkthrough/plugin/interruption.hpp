#pragma once

#include <csignal>

namespace flashbook::plugin {

/// While it lives, a request to end this program (Ctrl-C, SIGTERM, SIGHUP) waits, and shows in
/// file(); with it ends the wait, and so does the program. What processes and files it has made can
/// be removed in between.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Readable, for poll, once there is a request.
  int file() const { return file_; }

 private:
  sigset_t before_{};
  int file_;
};

}  // namespace flashbook::plugin
