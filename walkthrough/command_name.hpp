#pragma once

#include <string>

namespace flashbook {

/// What the user typed to get here, for hints: ./book says so in FLASHBOOK_COMMAND.
std::string command_name();

/// A line that begins with "flashbook", such as a report's command, as the user types it.
std::string as_typed(const std::string& command);

}  // namespace flashbook
