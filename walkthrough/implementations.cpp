#include "walkthrough/implementations.hpp"

#include <cstdio>
#include <optional>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "sim/io/implementations.hpp"

namespace flashbook {
namespace {

/// The blocks of "io.fa2[16x48]", if that is what `name` looks like.
std::optional<io::Blocks> blocks_in(const std::string& name) {
  int rows = 0, columns = 0, length = 0;
  std::sscanf(name.c_str(), "io.fa2[%9dx%9d]%n", &rows, &columns, &length);
  const bool is_whole = length > 0 && static_cast<std::size_t>(length) == name.size();
  if (!is_whole || rows < 1 || columns < 1) return std::nullopt;
  return io::Blocks{rows, columns};
}

}  // namespace

Implementations implementations() {
  Implementations all;
  all.push_back(std::make_unique<Oracle>());
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  all.push_back(std::make_unique<io::Fa2>());
  all.push_back(std::make_unique<io::Fa2>(io::Blocks{16, 48}));
  return all;
}

std::unique_ptr<Implementation> find_implementation(const std::string& name) {
  std::string names;
  for (auto& implementation : implementations()) {
    if (implementation->name() == name) return std::move(implementation);
    names += implementation->name() + ", ";
  }
  if (const auto blocks = blocks_in(name)) return std::make_unique<io::Fa2>(*blocks);
  throw InputError("--impl is '" + name + "': there is no such implementation; pass one of " +
                   names + "or io.fa2[ROWSxKEYS] for blocks of your own");
}

}  // namespace flashbook
