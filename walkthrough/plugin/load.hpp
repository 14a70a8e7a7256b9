#pragma once

#include <memory>
#include <string>

#include "cpu_reference/implementation.hpp"
#include "walkthrough/plugin/crash_site.hpp"

namespace flashbook::plugin {

/// A reader's implementation in this process.
struct Loaded {
  std::unique_ptr<Implementation> implementation;
  bool has_forward;
  bool on_gpu;  ///< its tensors lie in GPU memory
};

/// Loads a shared library that exports flashbook_plugin (cuda/api/flashbook.h), or a Python module
/// (run_python.py), which then runs in a process of its own. Throws InputError that names the
/// reader's `path` and what is wrong with it. Where a library's tensors lie on the host, `site`
/// knows.
Loaded load(const std::string& path, const std::string& library, CrashSite& site);

}  // namespace flashbook::plugin
