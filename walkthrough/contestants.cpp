#include "walkthrough/contestants.hpp"

#include "walkthrough/implementations.hpp"

namespace flashbook {
namespace {

/// "io.fa2" of "io.fa2[16x48]"; any other name as it is.
std::string family_of(const std::string& name) {
  return name.substr(0, name.find('['));
}

std::vector<std::string> names_of(const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& implementation : implementations()) {
    const std::string name = implementation->name();
    if (wanted.empty() || wanted == name || wanted == family_of(name)) names.push_back(name);
  }
  if (names.empty()) names.push_back(find_implementation(wanted)->name());
  return names;
}

/// Blocks so small that small problems have many tiles.
std::string with_random_blocks(const std::string& family, conformance::Draws& draws) {
  const Index rows = draws.pick(1, 10), columns = draws.pick(1, 10);
  return family + '[' + std::to_string(rows) + 'x' + std::to_string(columns) + ']';
}

}  // namespace

conformance::Contestants contestants(const std::string& wanted) {
  return [names = names_of(wanted), wanted](conformance::Draws& draws) {
    Implementations all;
    for (const std::string& name : names) {
      const std::string family = family_of(name);
      const bool is_free = name != family && name != wanted;
      all.push_back(find_implementation(is_free ? with_random_blocks(family, draws) : name));
    }
    return all;
  };
}

}  // namespace flashbook
