#include "walkthrough/plugin/interruption.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <stdexcept>

namespace flashbook::plugin {
namespace {

/// Those that would end the program now: under nohup SIGHUP does not.
sigset_t requests() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Interruption::Interruption() {
  const sigset_t set = requests();
  file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) throw std::runtime_error("no file descriptor is left");
  ::sigprocmask(SIG_BLOCK, &set, &before_);
}

Interruption::~Interruption() {
  ::close(file_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace flashbook::plugin
