#pragma once

#include <cstdint>
#include <string>

namespace flashbook::simt {

/// A place in a kernel's source. As the default argument of an instruction it is where the
/// instruction is written: `void sync_threads(Site site = Site::here())`.
struct Site {
  const char* file = "";
  unsigned line = 0;

  static constexpr Site here(const char* file = __builtin_FILE(),
                             unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

/// A site's number in this process, from 1 up: what counters and shadow memory store. 0 is no site.
using SiteId = std::uint32_t;

/// The number of a site; the same file and line have the same number. Fast when asked again.
SiteId id_of(Site site);
Site site_of(SiteId id);

/// "fa2.cuh:51", or "nowhere" for no site.
std::string text(Site site);

}  // namespace flashbook::simt
