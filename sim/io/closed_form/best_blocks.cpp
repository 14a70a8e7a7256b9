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

/// Bytes that what streams (K and V, or Q and O or dO) cannot move in less with these blocks: a
/// tile covers B_r · B_c pairs at most, so C ≥ pairs / B_r and R ≥ pairs / B_c. (FA1 moves O in and
/// out, most of it in fp32; that it is written, in the problem's type, bounds it all the same.)
double least_bytes(const Algorithm& algorithm, const AttentionProblem& problem, double pairs,
                   const Blocks& b) {
  const double a_row = static_cast<double>((problem->d + problem->d_v) * bytes_of(problem.dtype()));
  const double rereads = (algorithm.streams.keys ? 1 / static_cast<double>(b.rows) : 0) +
                         (algorithm.streams.queries ? 1 / static_cast<double>(b.columns) : 0);
  return static_cast<double>(problem->heads_q) * pairs * a_row * rereads;
}

double all_visible_pairs(const AttentionProblem& problem) {
  if (problem->members == 0) return 0;
  if (!problem->packed)
    return static_cast<double>(problem->members) * visible_pairs(problem, problem.member(0));
  double pairs = 0;
  for (Index b = 0; b < problem->members; ++b) pairs += visible_pairs(problem, problem.member(b));
  return pairs;
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
  schedule.blocks = {1, 1};
  check_runs(algorithm, problem, schedule);
  if (algorithm.footprint(problem, {1, 1}) > sram_bytes) refuse(algorithm, problem, sram_bytes);

  Blocks best = {1, 1};
  Index fewest = std::numeric_limits<Index>::max(), fewest_tiles = fewest;
  const double pairs = all_visible_pairs(problem);
  for (const Index rows : sizes(problem->n_q))
    for (const Index columns : sizes(problem->n_k)) {
      schedule.blocks = {rows, columns};
      if (algorithm.footprint(problem, schedule.blocks) > sram_bytes) continue;
      if (least_bytes(algorithm, problem, pairs, schedule.blocks) > static_cast<double>(fewest))
        continue;
      const Report report = closed_form(algorithm, problem, schedule);
      const Index bytes = report.bytes_read() + report.bytes_written();
      // Of blocks that move as many bytes, the larger tiles.
      if (std::pair(bytes, report.visited_tiles) < std::pair(fewest, fewest_tiles)) {
        fewest = bytes;
        fewest_tiles = report.visited_tiles;
        best = schedule.blocks;
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
