#pragma once

#include <array>
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

/// A site's number in this process, from 1 up: what counters and shadow memory store, the latter
/// many times, so it is small. 0 is no site.
using SiteId = std::uint16_t;

/// Throws std::length_error after 65535 sites.
SiteId register_site(Site site);
Site site_of(SiteId id);

namespace detail {
struct CachedSite {
  Site site;
  SiteId id = 0;
};
inline constinit thread_local std::array<CachedSite, 256> site_cache = {};
}  // namespace detail

/// The number of a site; the same file and line have the same number.
inline SiteId id_of(Site site) {
  // Within a translation unit a file's name is one string: its address tells it from others.
  detail::CachedSite& cached = detail::site_cache[site.line % detail::site_cache.size()];
  if (cached.site.line != site.line || cached.site.file != site.file) [[unlikely]]
    cached = {site, register_site(site)};
  return cached.id;
}

/// "fa2.cuh:51", or "nowhere" for no site.
std::string text(Site site);

}  // namespace flashbook::simt
