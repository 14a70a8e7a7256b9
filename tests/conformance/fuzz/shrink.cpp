#include "tests/conformance/fuzz/shrink.hpp"

namespace flashbook::conformance {
namespace {

using Candidates = std::vector<Draft>;

/// Smaller numbers to try in place of one, the smallest first.
std::vector<Index> smaller(Index size, Index least) {
  std::vector<Index> sizes;
  for (const Index candidate : {least, size / 2, size - 1})
    if (candidate >= least && candidate < size) sizes.push_back(candidate);
  return sizes;
}

void cut_size(const Draft& draft, Index Draft::*size, Candidates& candidates) {
  for (const Index n : smaller(draft.*size, 1)) {
    candidates.push_back(draft);
    candidates.back().*size = n;
  }
}

void cut_tokens(const Draft& draft, Index Lengths::*axis, Candidates& candidates) {
  for (const Index n : smaller(draft.tokens.*axis, 0)) {
    candidates.push_back(draft);
    candidates.back().tokens.*axis = n;
  }
}

void cut_members(const Draft& draft, Candidates& candidates) {
  if (!draft.members) return;
  for (std::size_t m = 0; m < draft.members->size(); ++m) {
    const Lengths member = (*draft.members)[m];
    candidates.push_back(draft);  // the member alone, not packed
    candidates.back().members.reset();
    candidates.back().tokens = member;
    candidates.push_back(draft);  // without it
    candidates.back().members->erase(candidates.back().members->begin() +
                                     static_cast<std::ptrdiff_t>(m));
    for (Index Lengths::*axis : {&Lengths::n_q, &Lengths::n_k})
      for (const Index n : smaller(member.*axis, 0)) {
        candidates.push_back(draft);
        (*candidates.back().members)[m].*axis = n;
      }
  }
}

/// A field put back to what an empty draft has.
template <class T>
void reset(const Draft& draft, T Draft::*field, Candidates& candidates) {
  candidates.push_back(draft);
  candidates.back().*field = Draft{}.*field;
}

void leave_out_options(const Draft& draft, Candidates& candidates) {
  reset(draft, &Draft::bias, candidates);
  reset(draft, &Draft::alibi, candidates);
  reset(draft, &Draft::sinks, candidates);
  reset(draft, &Draft::dlse, candidates);
  reset(draft, &Draft::softcap, candidates);
  reset(draft, &Draft::causal, candidates);
  reset(draft, &Draft::window_left, candidates);
  reset(draft, &Draft::window_right, candidates);
  reset(draft, &Draft::alignment, candidates);
  reset(draft, &Draft::scale, candidates);
  for (std::size_t axis = 0; draft.bias && axis < 4; ++axis) {
    candidates.push_back(draft);
    (*candidates.back().bias)[axis] = false;
  }
}

void make_plain(const Draft& draft, Candidates& candidates) {
  reset(draft, &Draft::placements, candidates);
  reset(draft, &Draft::bias_placement, candidates);
  for (std::size_t i = 0; i < strided_count; ++i) {
    candidates.push_back(draft);
    candidates.back().placements[i] = Placement::bnhd;
  }
  reset(draft, &Draft::recipe, candidates);
  const auto plain_data = [&](auto Recipe::*field) {
    candidates.push_back(draft);
    candidates.back().recipe.*field = Recipe{}.*field;
  };
  plain_data(&Recipe::values);
  plain_data(&Recipe::cotangents);
  plain_data(&Recipe::bias);
  plain_data(&Recipe::planted);
  reset(draft, &Draft::dtype, candidates);
}

/// Every problem that is one step simpler, the largest steps first.
Candidates simpler(const Draft& draft) {
  Candidates candidates;
  cut_members(draft, candidates);
  for (Index Draft::*size :
       {&Draft::batch, &Draft::heads_kv, &Draft::group, &Draft::d, &Draft::d_v})
    cut_size(draft, size, candidates);
  cut_tokens(draft, &Lengths::n_q, candidates);
  cut_tokens(draft, &Lengths::n_k, candidates);
  leave_out_options(draft, candidates);
  make_plain(draft, candidates);
  return candidates;
}

}  // namespace

Draft shrink(Draft failing, const std::function<bool(const Draft&)>& still_fails) {
  for (bool is_shrinking = true; is_shrinking;) {
    is_shrinking = false;
    for (const Draft& candidate : simpler(failing)) {
      if (candidate == failing || !still_fails(candidate)) continue;
      failing = candidate;
      is_shrinking = true;
      break;
    }
  }
  return failing;
}

}  // namespace flashbook::conformance
