#include "sim/io/ragged.hpp"

#include <algorithm>
#include <numeric>

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"

namespace flashbook::io {
namespace {

flashbook_problem fields_of(const RaggedBatch& b, Index batch, Index tokens) {
  flashbook_problem p = dense_problem(batch, b.heads_q, b.heads_kv, tokens, tokens, b.d, b.d);
  p.dtype = static_cast<std::int32_t>(b.dtype);
  p.causal = b.causal;
  return p;
}

}  // namespace

Index RaggedBatch::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), Index{0});
}

Index RaggedBatch::longest() const {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

void check(const RaggedBatch& batch) {
  if (batch.lengths.empty())
    throw InputError("lengths (--lengths) is empty: pass the tokens of at least one sequence");
  for (const Index length : batch.lengths)
    if (length < 0)
      throw InputError("lengths (--lengths) has " + std::to_string(length) +
                       ": a sequence has 0 tokens or more");
  check_countable("lengths (--lengths)", batch.longest(), batch.d,
                  static_cast<double>(batch.lengths.size()) * static_cast<double>(batch.heads_q));
}

AttentionProblem packed(const RaggedBatch& batch) {
  check(batch);
  flashbook_problem p = fields_of(batch, 1, batch.tokens());
  p.packed = 1;
  p.members = static_cast<Index>(batch.lengths.size());
  std::vector<Index> offsets = {0};
  for (const Index length : batch.lengths) offsets.push_back(offsets.back() + length);
  return AttentionProblem(p, offsets, offsets);
}

AttentionProblem padded(const RaggedBatch& batch) {
  check(batch);
  return AttentionProblem(
      fields_of(batch, static_cast<Index>(batch.lengths.size()), batch.longest()));
}

double wasted_share(Index used, Index spent) {
  return spent == 0 ? 0 : 1 - static_cast<double>(used) / static_cast<double>(spent);
}

TwoBatches best_two_batches(const RaggedBatch& batch) {
  check(batch);
  std::vector<Index> sorted = batch.lengths;
  std::sort(sorted.begin(), sorted.end());
  const auto pairs = [](std::size_t sequences, Index longest) {
    return static_cast<double>(sequences) * static_cast<double>(longest) *
           static_cast<double>(longest);
  };
  TwoBatches best = {0, 0, pairs(sorted.size(), sorted.back())};
  for (std::size_t n = 1; n < sorted.size(); ++n) {
    const double both = pairs(n, sorted[n - 1]) + pairs(sorted.size() - n, sorted.back());
    if (both < best.pairs) best = {static_cast<Index>(n), sorted[n - 1], both};
  }
  return best;
}

}  // namespace flashbook::io
