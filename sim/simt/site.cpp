#include "sim/simt/site.hpp"

#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
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

}  // namespace

SiteId register_site(Site site) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const std::size_t next = all.sites.size();
  const auto [entry, is_new] =
      all.ids.try_emplace({site.file, site.line}, static_cast<SiteId>(next));
  if (is_new && next > std::numeric_limits<SiteId>::max())
    throw std::length_error("kernels of more than 65535 lines");
  if (is_new) all.sites.push_back(site);
  return entry->second;
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
