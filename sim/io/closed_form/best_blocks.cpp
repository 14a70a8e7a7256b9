#include "sim/io/closed_form/best_blocks.hpp"

#include <algorithm>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/visits.hpp"

namespace flashbook::io {
namespace {

constexpr Index largest_tried_singly = 1024;

/// Block sizes to try for n rows, largest first: all up to 1,024, and of the larger ones a few to
/// each number of tiles. (The SRAM of today's GPUs holds larger ones for small d, or with few rows
/// on the other side: there the choice is close to the best, not always the best.)
std::vector<Index> sizes(Index n) {
  std::vector<Index> tried;
  for (Index b = 1; b <= std::min(n, largest_tried_singly); ++b) tried.push_back(b);
  for (Index b = largest_tried_singly; b < n; b += b / 5) {
    const Index tiles = ceil_div(n, b);
    tried.push_back(b);
    tried.push_back(ceil_div(n, tiles));  // as many tiles, evenly filled
  }
  tried.push_back(std::max<Index>(n, 1));
  std::sort(tried.rbegin(), tried.rend());
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  return tried;
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

double least_bytes(const Algorithm& algorithm, const AttentionProblem& problem, double pairs,
                   const Blocks& b) {
  const auto d = static_cast<double>(problem->d), d_v = static_cast<double>(problem->d_v);
  const auto element = static_cast<double>(bytes_of(problem.dtype()));
  const double C = pairs / static_cast<double>(b.rows), R = pairs / static_cast<double>(b.columns);
  const auto N = static_cast<double>(problem->batch * problem->n_q);
  const Streams& streams = algorithm.streams;
  double bytes = 0;
  if (streams.keys) bytes += C * (d + d_v) * element;
  if (streams.queries) bytes += R * (d + d_v) * element;
  if (streams.o) bytes += R * d_v * element;
  if (streams.sums) bytes += std::max(0., R - N) * d * 2 * sizeof(float);
  return static_cast<double>(problem->heads_q) * bytes;
}

double all_visible_pairs(const AttentionProblem& problem) {
  if (problem->members == 0) return 0;
  if (!problem->packed)
    return static_cast<double>(problem->members) * visible_pairs(problem, problem.member(0));
  double pairs = 0;
  for (Index b = 0; b < problem->members; ++b) pairs += visible_pairs(problem, problem.member(b));
  return pairs;
}

Blocks best_blocks(const Algorithm& algorithm, const AttentionProblem& problem, Index sram_bytes) {
  if (!algorithm.takes.blocks)
    throw InputError(std::string(algorithm.name) +
                     " has no blocks to choose: leave out sram_bytes (--sram)");
  check_runs(algorithm, problem, {{1, 1}});
  if (algorithm.footprint(problem, {1, 1}) > sram_bytes) refuse(algorithm, problem, sram_bytes);

  Blocks best = {1, 1};
  Index fewest = std::numeric_limits<Index>::max(), fewest_tiles = fewest;
  const double pairs = all_visible_pairs(problem);
  for (const Index rows : sizes(problem->n_q))
    for (const Index columns : sizes(problem->n_k)) {
      const Blocks blocks = {rows, columns};
      if (algorithm.footprint(problem, blocks) > sram_bytes) continue;
      if (least_bytes(algorithm, problem, pairs, blocks) > static_cast<double>(fewest)) continue;
      const Report report = closed_form(algorithm, problem, {blocks});
      const Index bytes = report.bytes_read() + report.bytes_written();
      // Of blocks that move as many bytes, the larger tiles.
      if (std::pair(bytes, report.visited_tiles) < std::pair(fewest, fewest_tiles)) {
        fewest = bytes;
        fewest_tiles = report.visited_tiles;
        best = blocks;
      }
    }
  return best;
}

}  // namespace flashbook::io
