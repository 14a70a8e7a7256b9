#include "sim/simt/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace flashbook::simt {
namespace {

constexpr unsigned banks = 32, bank_bytes = 4;

/// What one bank gives, or several neighbours together when lanes ask for more than 4 bytes.
unsigned unit_bytes(unsigned bytes) {
  return std::max(bytes, bank_bytes);
}

unsigned lanes_in_group(unsigned bytes) {
  return banks * bank_bytes / unit_bytes(bytes);
}

/// The most different units that a group of lanes asks of one place across the banks.
unsigned passes_of(const WarpAddresses& access, std::uint32_t group) {
  const unsigned unit = unit_bytes(access.bytes), places = banks * bank_bytes / unit;
  std::array<std::array<std::uint64_t, banks>, 32> asked;  // [n-th of a place][place]
  std::array<std::uint8_t, banks> count = {};
  unsigned passes = 0;
  for (; group; group &= group - 1) {
    const std::uint64_t number = access.address[std::countr_zero(group)] / unit;
    const auto place = static_cast<unsigned>(number % places);
    unsigned i = 0;
    while (i < count[place] && asked[i][place] != number) ++i;
    if (i < count[place]) continue;
    asked[i][place] = number;
    count[place] = static_cast<std::uint8_t>(i + 1);
    passes = std::max(passes, i + 1);
  }
  return passes;
}

/// Whether each lane of a group asks for the same as its partner, lane ^ distance, if that is in
/// the group.
bool in_pairs(const WarpAddresses& access, std::uint32_t group, unsigned distance) {
  for (std::uint32_t lanes = group; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const unsigned partner = lane ^ distance;
    if (group >> partner & 1 && access.address[partner] != access.address[lane]) return false;
  }
  return true;
}

/// The sum of f over the groups of lanes that shared memory serves one after another.
template <class F>
unsigned sum_over_groups(const WarpAddresses& access, F&& f) {
  const unsigned lanes = lanes_in_group(access.bytes);
  if (lanes == 32) return access.mask ? f(access.mask) : 0;
  const std::uint32_t group = (1u << lanes) - 1;
  unsigned sum = 0;
  for (unsigned first = 0; first < 32; first += 2 * lanes) {
    const std::uint32_t low = access.mask & group << first,
                        high = access.mask & group << (first + lanes), both = low | high;
    if (!access.is_store && (in_pairs(access, both, 1) || in_pairs(access, both, 2)))
      sum += both ? f(both) : 0;
    else
      sum += (low ? f(low) : 0) + (high ? f(high) : 0);
  }
  return sum;
}

}  // namespace

unsigned sectors(const WarpAddresses& access) {
  std::array<std::uint64_t, 32> touched;
  unsigned n = 0;
  bool sorted = true;
  for (std::uint32_t lanes = access.mask; lanes; lanes &= lanes - 1) {
    const std::uint64_t sector = access.address[std::countr_zero(lanes)] / sector_bytes;
    if (n > 0 && touched[n - 1] == sector) continue;
    sorted = sorted && (n == 0 || touched[n - 1] < sector);
    touched[n++] = sector;
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
