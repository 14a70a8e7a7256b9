#include "sim/io/closed_form/best_blocks.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/totals.hpp"
#include "sim/io/closed_form/visits.hpp"

namespace flashbook::io {
namespace {

constexpr Index largest_tried_singly = 1024;

/// Block sizes to try, largest first: `most`, all up to 1,024, and of those between a few to each
/// number of tiles of n rows. (The SRAM of today's GPUs holds larger ones for small d, or with few
/// rows on the other side: there, under a mask, the choice is close to the best, not always it.)
std::vector<Index> sizes(Index n, Index most) {
  std::vector<Index> tried = {most};
  for (Index b = 1; b <= std::min(most, largest_tried_singly); ++b) tried.push_back(b);
  for (Index b = largest_tried_singly; b < most; b += b / 16) {
    tried.push_back(b);
    tried.push_back(ceil_div(n, ceil_div(n, b)));  // as many tiles, evenly filled
  }
  std::sort(tried.rbegin(), tried.rend());
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  return tried;
}

/// The greatest size in [1, n] that fits; 0 if none does. Footprints grow with both blocks.
template <class Fits>
Index largest_that(const Fits& fits, Index n) {
  Index fitting = 0, too_large = std::max<Index>(n, 1) + 1;
  while (too_large - fitting > 1) {
    const Index middle = fitting + (too_large - fitting) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace

double least_bytes(const Algorithm& algorithm, const AttentionProblem& problem, double pairs,
                   const Blocks& b) {
  const Streams& streams = algorithm.streams;
  const auto d = static_cast<double>(problem->d), d_v = static_cast<double>(problem->d_v);
  const auto e = static_cast<double>(bytes_of(problem.dtype()));
  const auto N = static_cast<double>(problem->batch * problem->n_q);
  const double C = pairs / static_cast<double>(b.rows), R = pairs / static_cast<double>(b.columns);
  double bytes = 0;
  if (streams.keys) bytes += C * (d + d_v) * e;
  if (streams.queries) bytes += R * (algorithm.backward ? d + d_v : d) * e;
  if (streams.o) bytes += R * d_v * e;
  if (streams.sums) bytes += std::max(0., R - N) * (algorithm.backward ? d : d_v) * (4 + 4);
  return static_cast<double>(problem->heads_q) * bytes;
}

double all_visible_pairs(const AttentionProblem& problem) {
  double pairs = 0;
  for_members(problem, [&](const Member& m, Index times) {
    pairs += static_cast<double>(times) * visible_pairs(problem, m);
  });
  return pairs;
}

namespace {

/// A row block with all the columns that fit beside it, and what it cannot do better than.
struct Candidate {
  double least_bytes;
  Blocks blocks;
};

/// The most promising first.
std::vector<Candidate> candidates(const Algorithm& algorithm, const AttentionProblem& problem,
                                  double pairs, Index sram_bytes) {
  const auto fits = [&](const Blocks& b) { return algorithm.footprint(problem, b) <= sram_bytes; };
  const Index tallest = largest_that([&](Index rows) { return fits({rows, 1}); }, problem->n_q);
  std::vector<Candidate> found;
  for (const Index rows : sizes(problem->n_q, tallest)) {
    const Index columns = largest_that(
        [&](Index keys) {
          return fits({rows, keys});
        },
        problem->n_k);
    const Blocks blocks = {rows, columns};
    found.push_back({least_bytes(algorithm, problem, pairs, blocks), blocks});
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.least_bytes < b.least_bytes;
  });
  return found;
}

[[noreturn]] void refuse(const Algorithm& algorithm, const AttentionProblem& problem,
                         Index sram_bytes) {
  std::ostringstream out;
  out << "sram_bytes (--sram) is " << sram_bytes << ", which holds no tiles of " << algorithm.name
      << " with d = " << problem->d << ": its smallest blocks, B_r = B_c = 1, need "
      << algorithm.footprint(problem, {1, 1}) << " bytes";
  throw InputError(out.str());
}

}  // namespace

Blocks best_blocks(const Algorithm& algorithm, const AttentionProblem& problem, Index sram_bytes,
                   Schedule schedule) {
  if (!algorithm.takes.blocks)
    throw InputError(std::string(algorithm.name) +
                     " has no blocks to choose: leave out sram_bytes (--sram)");
  if (algorithm.footprint(problem, {1, 1}) > sram_bytes) refuse(algorithm, problem, sram_bytes);

  Blocks best = {1, 1};
  Index fewest = std::numeric_limits<Index>::max(), fewest_tiles = fewest;
  const double pairs = all_visible_pairs(problem);
  for (const auto& [least, largest] : candidates(algorithm, problem, pairs, sram_bytes)) {
    if (least > static_cast<double>(fewest)) break;
    // Without a mask fewer columns than fit never move less.
    for (const Index columns : problem.is_masked() ? sizes(problem->n_k, largest.columns)
                                                   : std::vector<Index>{largest.columns}) {
      schedule.blocks = {largest.rows, columns};
      if (least_bytes(algorithm, problem, pairs, schedule.blocks) > static_cast<double>(fewest))
        break;
      const Report report = closed_form(algorithm, problem, schedule);
      const Index bytes = report.bytes_read() + report.bytes_written();
      // Of blocks that move as many bytes, the larger tiles.
      if (std::pair(bytes, report.visited_tiles) < std::pair(fewest, fewest_tiles)) {
        fewest = bytes;
        fewest_tiles = report.visited_tiles;
        best = schedule.blocks;
      }
    }
  }
  return best;
}

Blocks paper_blocks(const AttentionProblem& problem, Index sram_bytes) {
  const Index M = sram_bytes / bytes_of(problem.dtype()), d = problem->d;
  if (M < 1)
    throw InputError("sram_bytes (--sram) is " + std::to_string(sram_bytes) +
                     ", which holds no element: pass at least " +
                     std::to_string(bytes_of(problem.dtype())));
  const Index B_c = ceil_div(M, 4 * d);
  return {std::min(B_c, d), B_c};
}

}  // namespace flashbook::io
