#include "sim/io/kv_cache.hpp"

#include "cpu_reference/error.hpp"
#include "sim/io/bounds.hpp"

namespace flashbook::io {
namespace {

AttentionProblem layer(const DecoderShape& s, Index heads_q, Index n_q, Index n_k, bool causal) {
  flashbook_problem p = dense_problem(s.batch, heads_q, s.heads_kv, n_q, n_k, s.d, s.d);
  p.dtype = static_cast<std::int32_t>(s.dtype);
  p.causal = causal;
  return AttentionProblem(p);
}

void check_at_least_1(const char* name, Index value) {
  if (value < 1)
    throw InputError(std::string(name) + " is " + std::to_string(value) +
                     ": it must be at least 1");
}

}  // namespace

void check(const DecoderShape& s, Index tokens) {
  check_at_least_1("layers (--layers)", s.layers);
  check_at_least_1("heads_q (--heads)", s.heads_q);
  check_at_least_1("heads_kv (--heads-kv)", s.heads_kv);
  check_at_least_1("d (--d)", s.d);
  check_at_least_1("batch (--batch)", s.batch);
  check_at_least_1("tokens (--tokens)", tokens);
  if (s.heads_q % s.heads_kv != 0)
    throw InputError("heads_kv (--heads-kv) is " + std::to_string(s.heads_kv) +
                     ": it must divide the query heads, " + std::to_string(s.heads_q));
  check_countable("tokens (--tokens)", tokens, s.d,
                  static_cast<double>(s.layers) * static_cast<double>(s.batch) *
                      static_cast<double>(s.heads_q));
}

Index kv_cache_bytes(const DecoderShape& s, Index tokens) {
  check(s, tokens);
  return 2 * s.layers * s.batch * tokens * s.heads_kv * s.d * bytes_of(s.dtype);
}

Index score_bytes(const DecoderShape& s, Index tokens) {
  check(s, tokens);
  return s.batch * s.heads_q * tokens * tokens * bytes_of(s.dtype);
}

double crossing_tokens(const DecoderShape& s) {
  check(s, 1);
  return 2. * static_cast<double>(s.layers * s.d * s.heads_kv) / static_cast<double>(s.heads_q);
}

AttentionProblem prefill_problem(const DecoderShape& s, Index tokens) {
  check(s, tokens);
  return layer(s, s.heads_q, tokens, tokens, true);
}

AttentionProblem decode_problem(const DecoderShape& s, Index tokens) {
  check(s, tokens);
  return layer(s, s.heads_q, 1, tokens, false);
}

AttentionProblem grouped_decode_problem(const DecoderShape& s, Index tokens) {
  check(s, tokens);
  return layer(s, s.heads_kv, s.heads_q / s.heads_kv, tokens, false);
}

}  // namespace flashbook::io
