#include "sim/io/tilings.hpp"

#include <algorithm>

#include "sim/io/closed_form/closed_form.hpp"

namespace flashbook::io {
namespace {

AttentionProblem one_head(Index n, Index d, DType dtype) {
  flashbook_problem p = dense_problem(1, 1, 1, n, n, d, d);
  p.dtype = static_cast<std::int32_t>(dtype);
  return AttentionProblem(p);
}

/// The least x in (no, yes] with the same answer as yes.
Index bisect(Index no, Index yes, const std::function<bool(Index)>& holds) {
  const bool wanted = !holds(no);
  while (yes - no > 1) {
    const Index middle = no + (yes - no) / 2;
    (holds(middle) == wanted ? yes : no) = middle;
  }
  return yes;
}

}  // namespace

std::optional<Tiling> best_tiling(const Algorithm& algorithm, Index n, Index d, Index m,
                                  DType dtype) {
  const AttentionProblem problem = one_head(n, d, dtype);
  const Index sram_bytes = m * bytes_of(dtype);
  if (algorithm.footprint(problem, {1, 1}) > sram_bytes) return std::nullopt;
  const Blocks blocks = best_blocks(algorithm, problem, sram_bytes);
  return Tiling{blocks, elements_moved(algorithm, n, d, blocks)};
}

Index elements_moved(const Algorithm& algorithm, Index n, Index d, const Blocks& blocks) {
  const Report r = closed_form(algorithm, one_head(n, d, DType::fp32), {blocks});
  return r.matrix_reads() + r.matrix_writes() + r.vector_reads() + r.vector_writes();
}

Index matrix_elements(const Algorithm& algorithm, Index n, Index d, const Blocks& blocks) {
  const Report r = closed_form(algorithm, one_head(n, d, DType::fp32), {blocks});
  return r.matrix_reads() + r.matrix_writes();
}

std::optional<Turn> turn_of(Index least, Index most, const std::function<bool(Index)>& holds) {
  if (holds(least) || !holds(most)) return std::nullopt;
  std::optional<Turn> turn;
  bool before = false;
  for (Index x = least; x < most;) {
    const Index next = std::min(most, x + std::max<Index>(1, x / 256));
    const bool now = holds(next);
    if (now && !before) {
      const Index begins = bisect(x, next, holds);
      turn = Turn{turn ? turn->first : begins, begins};
    }
    before = now;
    x = next;
  }
  return turn;
}

std::optional<Turn> crosses_square_tiling(const Algorithm& algorithm, Index n, Index d,
                                          SquareTiling square_tiling) {
  const auto moves_less = [&](Index m) {
    const auto tiling = best_tiling(algorithm, n, d, m);
    const double square =
        square_tiling({static_cast<double>(n), static_cast<double>(d), static_cast<double>(m)});
    return tiling && static_cast<double>(tiling->elements) < square;
  };
  return turn_of(d, 4 * d * d, moves_less);
}

bool moves_less_than_standard(const Algorithm& algorithm, Index n, Index d, Index block) {
  const Blocks blocks = algorithm.streams.keys ? Blocks{block, 1} : Blocks{1, block};
  return matrix_elements(algorithm, n, d, blocks) <
         matrix_elements(find_algorithm("standard_forward"), n, d, {1, 1});
}

std::optional<Turn> beats_standard(const Algorithm& algorithm, Index n, Index d) {
  return turn_of(1, std::min(n, 4 * d),
                 [&](Index block) { return moves_less_than_standard(algorithm, n, d, block); });
}

}  // namespace flashbook::io
