#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "cuda/api/flashbook.h"

namespace flashbook {

/// Room for what a table's function has to say, and its text: one line, whatever was written there.
class Message {
 public:
  char* room() { return room_.data(); }
  bool is_empty() const { return room_.front() == '\0'; }
  /// Of a call that returned `status`.
  std::string text(int status) const {
    if (is_empty()) return "it returned status " + std::to_string(status) + " without a message";
    std::string text(room_.begin(), std::find(room_.begin(), room_.end() - 1, '\0'));
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    return text;
  }

 private:
  std::array<char, FLASHBOOK_MESSAGE_SIZE> room_{};
};

}  // namespace flashbook
