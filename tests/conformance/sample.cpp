#include "tests/conformance/sample.hpp"

#include <algorithm>

#include "tests/conformance/random_numbers.hpp"

namespace flashbook::conformance {
namespace {

constexpr Index blocks = 8;

}  // namespace

std::set<Piece> sample(Index batch, Index heads, Index tokens, std::uint64_t seed,
                       std::uint64_t stream) {
  const Index in_head = (tokens + sample_block - 1) / sample_block, all = batch * heads * in_head;
  std::set<Index> numbers = {0, all - 1};
  for (std::uint64_t draw = 0; static_cast<Index>(numbers.size()) < std::min(blocks, all); ++draw)
    numbers.insert(std::min(
        all - 1, static_cast<Index>(uniform(seed, stream, draw) * static_cast<double>(all))));
  std::set<Piece> pieces;
  for (const Index n : numbers) {
    const Index first = n % in_head * sample_block;
    pieces.insert(
        {n / in_head / heads, n / in_head % heads, first, std::min(sample_block, tokens - first)});
  }
  return pieces;
}

Member member_of(const AttentionProblem& problem, const Piece& rows) {
  if (!problem.fields().packed) return problem.member(rows.batch);
  const std::vector<Index>& first = problem.cu_seqlens_q();
  return problem.member(std::upper_bound(first.begin(), first.end(), rows.first) - first.begin() -
                        1);
}

}  // namespace flashbook::conformance
