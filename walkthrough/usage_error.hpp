#pragma once

#include <string>

namespace CLI {
class ParseError;
}

namespace flashbook {

/// What is wrong with the command line, and what to do: in our words where CLI11's say less.
std::string usage_error(const CLI::ParseError& error);

}  // namespace flashbook
