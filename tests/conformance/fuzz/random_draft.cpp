#include "tests/conformance/fuzz/draft.hpp"

namespace flashbook::conformance {
namespace {

/// 0 now and then, and otherwise any number of tokens: half of the time few.
Lengths random_lengths(Draws& draws, Index most) {
  const auto length = [&] {
    if (draws.chance(0.06)) return Index{0};
    return draws.pick(1, draws.chance(0.5) ? std::min<Index>(most, 4) : most);
  };
  const Index n_q = length();
  return {n_q, draws.chance(0.2) ? n_q : length()};
}

void draw_sizes(Draws& draws, const SizeLimits& limits, Draft& draft) {
  draft.dtype = draws.one_of({DType::fp16, DType::bf16, DType::fp32, DType::fp64});
  draft.heads_kv = draws.pick(1, 2);
  draft.group = draws.chance(0.5) ? 1 : draws.pick(2, 3);
  draft.d = draws.pick(1, limits.channels);
  draft.d_v = draws.chance(0.5) ? draft.d : draws.pick(1, limits.channels);
  draft.tokens = random_lengths(draws, limits.tokens);
  if (!draws.chance(0.25)) {
    draft.batch = draws.chance(0.02) ? 0 : draws.chance(0.8) ? 1 : 2;
    return;
  }
  draft.members.emplace(static_cast<std::size_t>(draws.pick(0, limits.members)));
  for (Lengths& member : *draft.members)
    member = random_lengths(draws, std::max<Index>(limits.tokens / 2, 1));
  if (draws.chance(0.7)) draft.tokens = {0, 0};  // no slack
}

void draw_mask(Draws& draws, Draft& draft) {
  if (draws.chance(0.3)) draft.alignment = Alignment::top_left;
  draft.causal = draws.chance(0.4);
  if (!draws.chance(0.3)) return;
  draft.window_left = draws.chance(0.2) ? unbounded : draws.pick(-4, 9);
  draft.window_right = draws.chance(0.2) ? unbounded : draws.pick(-9, 6);
}

void draw_options(Draws& draws, Draft& draft) {
  if (draws.chance(0.2)) draft.scale = draws.one_of({-0.3, 0.0, 0.3, -1.0, 2.0});
  if (draws.chance(0.2)) draft.softcap = draws.one_of({0.5, 1.5, 30.0});
  if (draws.chance(0.3)) {
    draft.bias.emplace();
    for (bool& is_full : *draft.bias) is_full = draws.chance(0.5);
    draft.bias_placement = static_cast<BiasPlacement>(draws.pick(0, 3));
  }
  if (draws.chance(0.25)) draft.alibi = draws.chance(0.5) ? FLASHBOOK_ALIBI_H : FLASHBOOK_ALIBI_BH;
  draft.sinks = draws.chance(0.25);
  draft.dlse = draws.chance(0.25);
}

void draw_placements(Draws& draws, Draft& draft) {
  if (draws.chance(0.4)) return;
  for (std::size_t i = 0; i < strided_count; ++i) {
    const bool is_output = i >= static_cast<std::size_t>(Strided::O);
    const Placement last = is_output ? Placement::odd_unit_axes : Placement::one_token;
    if (draws.chance(0.5))
      draft.placements[i] = static_cast<Placement>(draws.pick(0, static_cast<Index>(last)));
  }
}

Recipe random_recipe(Draws& draws) {
  Recipe recipe;
  if (draws.chance(0.5))
    recipe.values = static_cast<Values>(draws.pick(0, static_cast<Index>(Values::logits_1e10)));
  if (draws.chance(0.2))
    recipe.cotangents = draws.chance(0.7) ? CotangentValues::ones : CotangentValues::zero;
  if (draws.chance(0.4)) recipe.bias = static_cast<BiasValues>(draws.pick(1, 4));
  if (draws.chance(0.15)) recipe.planted = static_cast<Planted>(draws.pick(1, 7));
  return recipe;
}

}  // namespace

Draft random_draft(Draws& draws, const SizeLimits& limits) {
  Draft draft;
  draw_sizes(draws, limits, draft);
  draw_mask(draws, draft);
  draw_options(draws, draft);
  draw_placements(draws, draft);
  draft.recipe = random_recipe(draws);
  return draft;
}

}  // namespace flashbook::conformance
