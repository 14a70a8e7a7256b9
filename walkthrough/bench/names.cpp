#include "walkthrough/bench/names.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::bench {
namespace {

const std::string prefix = "cuda.";
const std::string peers = "torch.";

bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// "three_kernel" of "cuda.three_kernel@gpu"; any other name as it is.
std::string short_name(const std::string& impl) {
  const std::string family = impl.substr(0, impl.find('@'));
  return family.rfind(prefix, 0) == 0 ? family.substr(prefix.size()) : family;
}

/// Whether the glob fits a name, where a kernel's may lack cuda. and its machine.
bool fits_name(const std::string& glob, const std::string& impl) {
  return matches(glob, impl) || matches(glob, impl.substr(0, impl.find('@'))) ||
         (impl.rfind(prefix, 0) == 0 && matches(glob, short_name(impl)));
}

const char* kernel_of(const KernelPair& pair, Pass pass) {
  if (pass == Pass::forward) return pair.forward ? pair.forward->name : nullptr;
  return pair.backward ? pair.backward->name : nullptr;
}

}  // namespace

Names::Names(const std::string& globs, std::span<const KernelPair> pairs) : pairs_(pairs) {
  std::istringstream list(globs);
  for (std::string glob; std::getline(list, glob, ',');) globs_.push_back(glob);
}

bool Names::fits(const std::string& glob, Pass pass, const std::string& impl) const {
  if (fits_name(glob, impl)) return true;
  if (impl.rfind(prefix, 0) != 0) return false;
  const std::string machine = impl.substr(std::min(impl.find('@'), impl.size()));
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const KernelPair& pair) {
    const char* const kernel = kernel_of(pair, pass);
    return kernel && kernel == short_name(impl) && fits_name(glob, prefix + pair.name + machine);
  });
}

Wanted Names::wanted(Pass pass) const {
  return [this, pass](const std::string& impl) {
    return std::any_of(globs_.begin(), globs_.end(),
                       [&](const std::string& glob) { return fits(glob, pass, impl); });
  };
}

void Names::check(const std::vector<std::pair<Pass, std::string>>& all, bool has_peers) const {
  for (const std::string& glob : globs_) {
    if (has_peers && glob.rfind(peers, 0) == 0) continue;
    if (std::any_of(all.begin(), all.end(), [&](const auto& contestant) {
          return fits(glob, contestant.first, contestant.second);
        }))
      continue;
    std::string known;
    for (const auto& contestant : all)
      if (const std::string name = short_name(contestant.second) + ", ";
          (", " + known).find(", " + name) == std::string::npos)
        known += name;
    throw InputError("--impl has '" + glob + "': nobody of that name takes part; pass some of " +
                     known + (has_peers ? "torch.*, " : "") +
                     "or the name of a pair that 'list' shows" +
                     (has_peers ? "" : "; torch.* needs --peers"));
  }
}

std::vector<std::string> kernel_names(std::span<const KernelPair> pairs, Pass pass,
                                      Machine machine) {
  std::vector<std::string> names;
  for (const KernelPair& pair : pairs) {
    const char* const kernel = kernel_of(pair, pass);
    if (!kernel) continue;
    const std::string impl = prefix + kernel + '@' + std::string(name(machine));
    if (std::find(names.begin(), names.end(), impl) == names.end()) names.push_back(impl);
  }
  return names;
}

}  // namespace flashbook::bench
