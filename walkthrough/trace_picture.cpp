#include "walkthrough/trace_picture.hpp"

#include <algorithm>
#include <cmath>

#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook {
namespace {

using io::Trace;

constexpr Index columns = 60;

/// A share of each column's time, or of the largest value.
using Shares = std::vector<double>;

/// Columns of equal time, from the run's start to its end.
struct Columns {
  double ns;  ///< of one

  explicit Columns(const Trace& trace)
      : ns(std::max(1., static_cast<double>(trace.duration_ns)) / columns) {}

  /// Calls f(column, share of it) for each column that [start, end) touches.
  template <class F>
  void cover(Index start_ns, Index end_ns, const F& f) const {
    const double start = static_cast<double>(start_ns) / ns, end = static_cast<double>(end_ns) / ns;
    for (Index c = static_cast<Index>(start); c < columns && static_cast<double>(c) < end; ++c) {
      const double left = std::max(start, static_cast<double>(c));
      f(static_cast<std::size_t>(c), std::min(end, static_cast<double>(c + 1)) - left);
    }
  }
};

template <class Span>
Shares busy(const Trace& trace, const std::vector<Span>& spans, Index worker) {
  Shares shares(columns);
  for (const Span& span : spans)
    if (span.worker == worker)
      Columns(trace).cover(span.start_ns, span.end_ns(),
                           [&](std::size_t c, double share) { shares[c] += share; });
  return shares;
}

/// The most that is held in each column, of the most ever held.
Shares held(const Trace& trace, Index worker) {
  Shares most(columns);
  Index since = 0, bytes = 0;
  const auto hold_until = [&](Index until) {
    Columns(trace).cover(since, until, [&](std::size_t c, double) {
      most[c] = std::max(most[c], static_cast<double>(bytes));
    });
  };
  for (const Trace::Residency& r : trace.residency) {
    if (r.worker != worker) continue;
    hold_until(r.at_ns);
    since = r.at_ns;
    bytes = r.bytes;
  }
  hold_until(trace.duration_ns);
  const double peak = std::max(1., *std::max_element(most.begin(), most.end()));
  for (double& share : most) share /= peak;
  return most;
}

/// Nothing at all is blank; anything is seen.
std::string sparkline(const Shares& shares) {
  static const char* const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (const double share : shares)
    out += levels[std::clamp(static_cast<int>(std::ceil(8 * share - 1e-9)), 0, 8)];
  return out;
}

}  // namespace

std::string trace_picture(const Trace& trace, Index worker) {
  Index peak = 0;
  for (const Trace::Residency& r : trace.residency)
    if (r.worker == worker) peak = std::max(peak, r.bytes);
  return "worker " + std::to_string(worker) + ", from 0 to " +
         short_seconds(1e-9 * static_cast<double>(trace.duration_ns)) +
         "; full height is always busy, or " + short_bytes(peak) + " held\n\n" +
         table({{"moving", sparkline(busy(trace, trace.moves, worker))},
                {"computing", sparkline(busy(trace, trace.products, worker))},
                {"SRAM held", sparkline(held(trace, worker))}});
}

}  // namespace flashbook
