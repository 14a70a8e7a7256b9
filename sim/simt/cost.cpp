#include "sim/simt/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace flashbook::simt {
namespace {

constexpr unsigned banks = 32, bank_bytes = 4;

unsigned lanes_in_group(unsigned bytes) {
  return std::min(32u, banks * bank_bytes / std::max(bytes, bank_bytes));
}

/// The words that each bank is asked for.
struct Banks {
  static constexpr unsigned most = 64;  // words of one group: 32 lanes of 4 bytes, each misaligned
  std::array<std::array<std::uint64_t, banks>, most> words;
  std::array<unsigned, banks> count = {};
  unsigned passes = 0;

  void ask(std::uint64_t word) {
    const auto bank = static_cast<unsigned>(word % banks);
    unsigned i = 0;
    while (i < count[bank] && words[i][bank] != word) ++i;
    if (i < count[bank]) return;
    words[i][bank] = word;
    count[bank] = i + 1;
    passes = std::max(passes, i + 1);
  }
};

unsigned passes_of(const WarpAddresses& access, std::uint32_t group) {
  Banks all;
  for (; group; group &= group - 1) {
    const std::uint64_t first = access.address[std::countr_zero(group)];
    const std::uint64_t last = (first + access.bytes - 1) / bank_bytes;
    for (std::uint64_t word = first / bank_bytes; word <= last; ++word) all.ask(word);
  }
  return all.passes;
}

template <class F>
unsigned sum_over_groups(const WarpAddresses& access, F&& f) {
  const unsigned lanes = lanes_in_group(access.bytes);
  const std::uint32_t group = lanes == 32 ? ~0u : (1u << lanes) - 1;
  unsigned sum = 0;
  for (unsigned first = 0; first < 32; first += lanes)
    if (const std::uint32_t asking = access.mask & group << first) sum += f(asking);
  return sum;
}

}  // namespace

unsigned sectors(const WarpAddresses& access) {
  std::array<std::uint64_t, 64> touched;
  unsigned n = 0;
  bool sorted = true;
  for (std::uint32_t lanes = access.mask; lanes; lanes &= lanes - 1) {
    const std::uint64_t first = access.address[std::countr_zero(lanes)];
    const std::uint64_t last = (first + access.bytes - 1) / sector_bytes;
    for (std::uint64_t sector = first / sector_bytes; sector <= last; ++sector) {
      if (n > 0 && touched[n - 1] == sector) continue;
      sorted = sorted && (n == 0 || touched[n - 1] < sector);
      touched[n++] = sector;
    }
  }
  if (sorted) return n;
  std::sort(touched.begin(), touched.begin() + n);
  return static_cast<unsigned>(std::unique(touched.begin(), touched.begin() + n) - touched.begin());
}

unsigned ideal_sectors(const WarpAddresses& access) {
  const auto bytes = static_cast<unsigned>(std::popcount(access.mask)) * access.bytes;
  return (bytes + sector_bytes - 1) / sector_bytes;
}

unsigned wavefronts(const WarpAddresses& access) {
  return sum_over_groups(access, [&](std::uint32_t group) { return passes_of(access, group); });
}

unsigned ideal_wavefronts(const WarpAddresses& access) {
  return sum_over_groups(access, [](std::uint32_t) { return 1u; });
}

}  // namespace flashbook::simt
