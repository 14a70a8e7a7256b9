#pragma once

#include <string>

#include "cpu_reference/error.hpp"

namespace flashbook::plugin {

/// What is wrong with the plug-in that the reader calls `path`.
inline InputError refused(const std::string& path, const std::string& why) {
  return InputError("--plugin is '" + path + "': " + why);
}

}  // namespace flashbook::plugin
