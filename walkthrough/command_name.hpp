#pragma once

#include <string>

namespace flashbook {

/// What the user typed to get here, for hints: ./book says so in FLASHBOOK_COMMAND.
std::string command_name();

}  // namespace flashbook
