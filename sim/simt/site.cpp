#include "sim/simt/site.hpp"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace flashbook::simt {
namespace {

/// All sites seen by this process. Grows with the number of lines that kernels have.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<std::string_view, unsigned>, SiteId> ids;
  std::vector<Site> sites = {Site{}};
};

Registry& registry() {
  static Registry all;
  return all;
}

SiteId register_site(Site site) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto next = static_cast<SiteId>(all.sites.size());
  const auto [entry, is_new] = all.ids.try_emplace({site.file, site.line}, next);
  if (is_new) all.sites.push_back(site);
  return entry->second;
}

struct Cached {
  Site site;
  SiteId id = 0;
};

}  // namespace

SiteId id_of(Site site) {
  // A file's name is one string wherever it is used in one translation unit: compare its address.
  thread_local std::array<Cached, 256> cache;
  Cached& entry = cache[site.line % cache.size()];
  if (entry.site.line != site.line || entry.site.file != site.file)
    entry = {site, register_site(site)};
  return entry.id;
}

Site site_of(SiteId id) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.sites[id];
}

std::string text(Site site) {
  if (site.line == 0) return "nowhere";
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

}  // namespace flashbook::simt
