#include "walkthrough/command_name.hpp"

#include <cstdlib>

namespace flashbook {

std::string command_name() {
  const char* name = std::getenv("FLASHBOOK_COMMAND");
  return name == nullptr ? "flashbook" : name;
}

}  // namespace flashbook
