#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flashbook::bench {

/// A program that answers each line of JSON with one. What it says on stderr goes to ours.
class Dialogue {
 public:
  /// Starts it. Throws std::runtime_error if it cannot be started.
  explicit Dialogue(std::vector<std::string> words);
  /// It sees the end of what it reads, and is waited for.
  ~Dialogue();
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  /// The answer, an object. Throws std::runtime_error with the sentence that it has as "error", or
  /// if none comes within five minutes.
  nlohmann::json ask(const nlohmann::json& question);

 private:
  std::string read_line();

  std::string program_;
  int socket_ = -1;
  pid_t child_ = 0;
  std::string unread_;
};

}  // namespace flashbook::bench
