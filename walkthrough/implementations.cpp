#include "walkthrough/implementations.hpp"

#include <cstdio>
#include <optional>
#include <string_view>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "sim/io/implementations.hpp"

namespace flashbook {
namespace {

/// The schedule of "[16x48]" or, with as many splits as it says, "[16x48/5]", if that is what
/// `text` looks like.
std::optional<io::Schedule> schedule_in(const char* text, const io::Schedule& otherwise) {
  int rows = 0, columns = 0, tail = 0, splits = static_cast<int>(otherwise.splits);
  if (std::sscanf(text, "[%9dx%9d%n/%9d%n", &rows, &columns, &tail, &splits, &tail) < 2)
    return std::nullopt;
  const bool is_whole = std::string_view(text + tail) == "]";
  if (!is_whole || rows < 1 || columns < 1 || splits < 1) return std::nullopt;
  return io::Schedule{{rows, columns}, splits};
}

/// One of io::blocked_pairs() with a schedule of its own, if that is what `name` asks for.
std::unique_ptr<Implementation> scheduled(const std::string& name) {
  for (const io::BlockedPair& pair : io::blocked_pairs()) {
    if (name.rfind(std::string(pair.name) + "[", 0) != 0) continue;
    const auto schedule = schedule_in(name.c_str() + pair.name.size(), pair.schedule);
    if (schedule && (schedule->splits == 1 || io::find_algorithm(pair.forward).takes.splits))
      return std::make_unique<io::Blocked>(pair.name, *schedule);
  }
  return nullptr;
}

}  // namespace

Implementations implementations() {
  Implementations all;
  all.push_back(std::make_unique<Oracle>());
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  for (const io::BlockedPair& pair : io::blocked_pairs())
    all.push_back(std::make_unique<io::Blocked>(pair.name));
  all.push_back(std::make_unique<io::Blocked>("io.fa2", io::Schedule{{16, 48}}));
  return all;
}

std::unique_ptr<Implementation> find_implementation(const std::string& name) {
  std::string names;
  for (auto& implementation : implementations()) {
    if (implementation->name() == name) return std::move(implementation);
    names += implementation->name() + ", ";
  }
  if (auto implementation = scheduled(name)) return implementation;
  throw InputError("--impl is '" + name + "': there is no such implementation; pass one of " +
                   names + "or io.fa2[ROWSxKEYS] and its like for blocks of your own");
}

}  // namespace flashbook
