#pragma once

#include <string>

namespace flashbook {

/// One line on stderr that says how far long work has come. Silent unless stderr is a terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line.
  void show(const std::string& where) const;
  /// Removes it, before something else is printed.
  void clear() const;

 private:
  std::string what_;
  bool on_terminal_;
};

}  // namespace flashbook
