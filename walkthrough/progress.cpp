#include "walkthrough/progress.hpp"

#include <unistd.h>

#include <iostream>

namespace flashbook {
namespace {

constexpr const char* erase_line = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), on_terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(const std::string& where) const {
  if (on_terminal_) std::cerr << erase_line << what_ << ": " << where << std::flush;
}

void Progress::clear() const {
  if (on_terminal_) std::cerr << erase_line << std::flush;
}

}  // namespace flashbook
