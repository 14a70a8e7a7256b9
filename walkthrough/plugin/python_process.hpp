#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace flashbook::plugin {

/// run_python.py with a module, and the pipes to it and back. If that process ends, so does this
/// one, in the same way: for a program that is made to be watched.
class PythonProcess {
 public:
  /// Throws InputError if there is no python3.
  explicit PythonProcess(const std::string& module);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  void send(const std::string& bytes) const;
  std::string receive(std::size_t bytes) const;
  nlohmann::json receive_line() const;

 private:
  [[noreturn]] void share_its_fate() const;

  int process_ = 0, to_ = -1, from_ = -1;
};

}  // namespace flashbook::plugin
