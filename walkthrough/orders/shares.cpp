#include "walkthrough/orders/shares.hpp"

#include <algorithm>

namespace flashbook::orders {
namespace {

Activity activity_of(Phase phase) {
  switch (phase) {
    case Phase::waits_for_K:
    case Phase::waits_for_V:
      return Activity::copies;
    case Phase::waits_for_turn:
      return Activity::turn;
    case Phase::waits_for_S:
    case Phase::waits_for_O:
      return Activity::products;
    case Phase::softmax:
      return Activity::softmax;
    case Phase::starts_S:
    case Phase::starts_O:
    case Phase::done:
      break;
  }
  return Activity::starts;
}

std::uint32_t length(const Stretch& stretch) {
  return stretch.end - stretch.begin;
}

/// Of [begin, end), the cycles that lie in the intervals, which do not overlap.
std::uint32_t inside(const Stretch& s, const std::vector<Interval>& intervals) {
  std::uint32_t sum = 0;
  for (const Interval& i : intervals) {
    const std::uint32_t begin = std::max(s.begin, i.begin), end = std::min(s.end, i.end);
    if (begin < end) sum += end - begin;
  }
  return sum;
}

}  // namespace

char letter(Activity activity) {
  return "ctps+"[static_cast<std::size_t>(activity)];
}

const char* name(Activity activity) {
  static constexpr std::array<const char*, activities> names = {
      "waits for K or V", "waits for its turn", "waits for products", "softmax", "starts products"};
  return names[static_cast<std::size_t>(activity)];
}

std::vector<Stretch> stretches_of(const Stamps& stamps) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i + 1 < stamps.size(); ++i)
    stretches.push_back({activity_of(stamps[i].phase), stamps[i].cycles, stamps[i + 1].cycles});
  return stretches;
}

std::vector<Interval> products_of(const Stamps& stamps) {
  std::vector<Interval> intervals;
  bool S_runs = false, O_runs = false;
  for (std::size_t i = 0; i + 1 < stamps.size(); ++i) {
    const Phase phase = stamps[i].phase;
    const bool begins = phase == Phase::starts_S || phase == Phase::starts_O;
    if (begins && !S_runs && !O_runs) intervals.push_back({stamps[i].cycles, 0});
    S_runs = (S_runs || phase == Phase::starts_S) && phase != Phase::waits_for_S;
    O_runs = (O_runs || phase == Phase::starts_O) && phase != Phase::waits_for_O;
    const bool ends = phase == Phase::waits_for_S || phase == Phase::waits_for_O;
    if (ends && !S_runs && !O_runs) intervals.back().end = stamps[i + 1].cycles;
  }
  return intervals;
}

std::uint32_t begin_of_tile(const Stamps& stamps, std::int64_t tile) {
  std::uint32_t begin = 0;
  for (const Stamp& stamp : stamps) {
    if (stamp.phase != Phase::starts_S) continue;
    begin = stamp.cycles;
    if (tile-- == 0) break;
  }
  return begin;
}

Shares shares_of(const OrderRecording& order, std::int64_t tiles) {
  Shares shares = {};
  std::uint64_t all = 0, hidden = 0;
  std::array<std::uint64_t, activities> sums = {};
  for (const Stamps& stamps : order.consumers) {
    const std::vector<Interval> products = products_of(stamps);
    shares.cycles = std::max(shares.cycles, stamps.back().cycles);
    for (const Stretch& stretch : stretches_of(stamps)) {
      all += length(stretch);
      sums[static_cast<std::size_t>(stretch.activity)] += length(stretch);
      if (stretch.activity == Activity::softmax) hidden += inside(stretch, products);
    }
  }
  const auto part = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  for (std::size_t i = 0; i < activities; ++i) shares.of_consumer[i] = part(sums[i], all);
  shares.hidden = part(hidden, sums[static_cast<std::size_t>(Activity::softmax)]);
  const auto timed = static_cast<double>(order.timed_cycles);
  shares.cycles_a_tile = timed / static_cast<double>(tiles);
  shares.utilisation = least_cycles_a_tile / shares.cycles_a_tile;
  return shares;
}

}  // namespace flashbook::orders
