#include "sim/simt/cost.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace flashbook::simt {
namespace {

/// How many different units of `bytes` the lanes touch.
unsigned different_units(const WarpAddresses& access, unsigned bytes) {
  std::array<std::uint64_t, 32> touched;
  unsigned n = 0;
  bool sorted = true;
  for (std::uint32_t lanes = access.mask; lanes; lanes &= lanes - 1) {
    const std::uint64_t unit = access.address[std::countr_zero(lanes)] / bytes;
    if (n > 0 && touched[n - 1] == unit) continue;
    sorted = sorted && (n == 0 || touched[n - 1] < unit);
    touched[n++] = unit;
  }
  if (sorted) return n;
  std::sort(touched.begin(), touched.begin() + n);
  return static_cast<unsigned>(std::unique(touched.begin(), touched.begin() + n) - touched.begin());
}

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

/// Addresses of a warp whose active lanes come first among each four.
struct ClosedUp {
  std::array<std::uint64_t, 32> address;
  std::uint32_t mask = 0;

  explicit ClosedUp(const WarpAddresses& access) {
    for (unsigned four = 0; four < 32; four += 4)
      for (unsigned lane = four, to = four; lane < four + 4; ++lane) {
        if (!(access.mask >> lane & 1)) continue;
        address[to] = access.address[lane];
        mask |= 1u << to++;
      }
  }
};

/// Whether a pass may serve two groups of lanes at once: what a pass takes to lanes is twice what
/// it takes from banks, so each of the banks' words must go to two lanes.
bool may_go_together(const WarpAddresses& access, std::uint32_t both) {
  if (access.is_store) return false;
  if (access.bytes == 16) {
    const ClosedUp closed(access);
    const WarpAddresses moved = {closed.address.data(), closed.mask, access.bytes};
    const std::uint32_t half = both & 0xffffu ? 0xffffu : 0xffff0000u;
    return in_pairs(moved, moved.mask & half, 1) || in_pairs(moved, moved.mask & half, 2);
  }
  return in_pairs(access, both, 1) || in_pairs(access, both, 2);
}

/// Whether a load of 16 bytes is one pass: one place, for as many lanes as a pass can reach.
bool is_one_broadcast(const WarpAddresses& access) {
  if (access.is_store || access.bytes != 16 || std::popcount(access.mask) > 16) return false;
  const std::uint64_t first = access.address[std::countr_zero(access.mask)];
  for (std::uint32_t lanes = access.mask; lanes; lanes &= lanes - 1)
    if (access.address[std::countr_zero(lanes)] != first) return false;
  return true;
}

/// The sum of f(low, high) over the pairs of neighbouring groups of lanes.
template <class F>
unsigned sum_over_groups(const WarpAddresses& access, F&& f) {
  const unsigned lanes = lanes_in_group(access.bytes);
  if (lanes == 32) return f(access.mask, 0);
  const std::uint32_t group = (1u << lanes) - 1;
  unsigned sum = 0;
  for (unsigned first = 0; first < 32; first += 2 * lanes)
    sum += f(access.mask & group << first, access.mask & group << (first + lanes));
  return sum;
}

}  // namespace

unsigned sectors(const WarpAddresses& access) {
  return different_units(access, sector_bytes);
}

unsigned ideal_sectors(const WarpAddresses& access) {
  const unsigned bytes = different_units(access, access.bytes) * access.bytes;
  return (bytes + sector_bytes - 1) / sector_bytes;
}

unsigned wavefronts(const WarpAddresses& access) {
  if (access.mask == 0) return 0;
  if (is_one_broadcast(access)) return 1;
  return sum_over_groups(access, [&](std::uint32_t low, std::uint32_t high) {
    const unsigned apart = passes_of(access, low) + passes_of(access, high);
    const bool together =
        low && high && passes_of(access, low | high) == 1 && may_go_together(access, low | high);
    return together ? 1 : apart;
  });
}

unsigned ideal_wavefronts(const WarpAddresses& access) {
  if (access.mask == 0) return 0;
  if (is_one_broadcast(access)) return 1;
  return sum_over_groups(access, [&](std::uint32_t low, std::uint32_t high) {
    const unsigned groups = (low != 0) + (high != 0);
    return groups == 2 && may_go_together(access, low | high) ? 1 : groups;
  });
}

}  // namespace flashbook::simt
