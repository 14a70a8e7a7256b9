#include "walkthrough/implementations.hpp"

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "sim/io/implementations.hpp"

namespace flashbook {

Implementations implementations() {
  Implementations all;
  all.push_back(std::make_unique<Oracle>());
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  all.push_back(std::make_unique<io::Fa2>());
  return all;
}

const Implementation& find_implementation(const Implementations& all, const std::string& name) {
  std::string names;
  for (const auto& implementation : all) {
    if (implementation->name() == name) return *implementation;
    names += (names.empty() ? "" : ", ") + implementation->name();
  }
  throw InputError("--impl is '" + name + "': there is no such implementation; pass one of " +
                   names);
}

}  // namespace flashbook
