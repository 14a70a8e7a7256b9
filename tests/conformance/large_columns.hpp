#pragma once

#include "tests/conformance/data.hpp"
#include "tests/conformance/expectation.hpp"

/// dK and dV of a few keys, from the O and LSE that an implementation computed.
namespace flashbook::conformance {

/// Keys [first, first + count) of a head of K and V.
struct KeyBlock {
  Index batch, kv_head, first, count;
};

/// What gate 1 expects of dK and dV of these keys; everything else in it is empty. P is e^(s − LSE)
/// with the LSE given, Δ = Σ dO∘O with the O given, so the errors of both drop out of the
/// tolerance: what remains of docs/gates.md's is the backward pass's own. Not materialised, and
/// neither capped nor biased.
Expectation expect_columns(const AttentionProblem& problem, const Inputs& inputs,
                           const Cotangents& cotangents, const Results& results,
                           const Arithmetic& arithmetic, const KeyBlock& keys);

}  // namespace flashbook::conformance
