#include "walkthrough/command_name.hpp"

#include <cstdlib>

namespace flashbook {

std::string command_name() {
  const char* name = std::getenv("FLASHBOOK_COMMAND");
  return name == nullptr ? "flashbook" : name;
}

std::string as_typed(const std::string& command) {
  return command_name() + command.substr(std::string("flashbook").size());
}

}  // namespace flashbook
