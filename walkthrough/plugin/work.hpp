#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tests/conformance/cases.hpp"
#include "walkthrough/plugin/crash_site.hpp"

namespace flashbook::plugin {

/// A plug-in, and what it is judged by.
struct Task {
  std::string path;     ///< as the reader names it
  std::string library;  ///< what is loaded: the same file, or one made of it
  std::span<const conformance::Case> cases;
  std::uint64_t seed;
};

/// The exit status of a process that does not understand, or cannot hear, another one any more.
constexpr int lost_socket = 117;

/// What a process does that is started to run somebody else's code: loads the plug-in, then judges
/// each case whose number comes over the socket, until no more can come. It never returns. It says,
/// each a line of JSON with one key:
///   loaded      {name, has_forward, on_gpu}, once;
///   refused     why the plug-in cannot be loaded, and ends;
///   calling     a function of the plug-in's table: its code runs from now on …
///   returned    … until now;
///   raised      {error, frames} by a Python module;
///   report      of the case (walkthrough/report_json.hpp);
///   no_memory   the case was too large, and ends.
/// At a fault it leaves the address at `site`.
[[noreturn]] void work(int socket, const Task& task, CrashSite& site);

}  // namespace flashbook::plugin
