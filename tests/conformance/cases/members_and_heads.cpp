#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// Offsets 0, before, before + length, … + after.
std::string around(Index before, Index length, Index after) {
  return "0," + text(before) + ',' + text(before + length) + ',' + text(before + length + after);
}

/// A member of n_q queries and n_k keys between two others, and slack behind them.
void add_member_lengths(Builder& builder) {
  constexpr Index lengths[][2] = {{0, 0},   {0, 1},   {1, 0},   {1, 1},   {1, 65},
                                  {65, 1},  {15, 17}, {17, 15}, {16, 16}, {64, 63},
                                  {63, 64}, {65, 64}, {0, 64},  {64, 0},  {2, 130}};
  for (const auto& [n_q, n_k] : lengths)
    for (const char* mask : {"", "-causal"}) {
      const std::string words = "d=16 hq=2 hkv=1 nq=" + text(n_q + 10) + " nk=" + text(n_k + 11) +
                                " cu_q=" + around(3, n_q, 5) + " cu_k=" + around(5, n_k, 3);
      builder.add_point("members",
                        {text(n_q) + 'x' + text(n_k) + mask, words + (*mask ? " causal" : "")});
    }
}

}  // namespace

/// Packed sequences. Slack, gaps and whatever else no pair sees hold NaN.
void add_members(Builder& builder) {
  // Offsets of the batch in place of the member's own; a tile that runs into the next member.
  add_member_lengths(builder);
  const Named faults[] = {
      // dQ is NaN where a member has many more queries than keys.
      {"few-keys",
       "d=32 causal cu_q=0,76,110,256 cu_k=0,1,2,3 nq=256 nk=3 "
       "data=five-normal do=ones"},
      // Decoding: one query a member, at the end of as many keys as the member has.
      {"decode", "d=32 hq=2 causal cu_q=0,1,2,3 cu_k=0,9,42,60 nq=3 nk=60"},
      {"decode-grouped", "d=32 hq=8 hkv=2 causal cu_q=0,1,2,3 cu_k=0,9,42,130 nq=3 nk=130"},
      // Nothing but the last member has a token.
      {"one-token-of-four", "hq=21 hkv=7 d=120 cu_q=0,0,0,0,1 cu_k=0,0,0,0,1 nq=1"},
      // A deadlock.
      {"zero-and-one-key", "d=32 hq=2 cu_q=0,0,0,103 cu_k=0,0,1,206 nq=103 nk=206"},
      // NaN in the gradients for some lists of lengths.
      {"ragged", "d=16 causal cu_q=0,9,16,24,36,44,56,56 cu_k=0,3,12,32,33,46,53,65 nq=60 nk=70"},
      {"ragged-lists", "d=16 causal cu_q=0,3,12,32,33,46,58,64 cu_k=0,3,12,32,33,46,58,64 nq=66"},
      // A division by the number of keys.
      {"no-keys", "d=16 hq=2 cu_q=0,5,9 cu_k=0,0,0 nq=9 nk=0"},
      {"no-keys-causal", "d=16 hq=2 causal cu_q=0,5,9 cu_k=0,0,7 nq=9 nk=7"},
      // Gradients of tokens behind the last member hold what the allocator left there.
      {"slack", "d=16 hq=2 causal cu_q=0,14,43,94 cu_k=0,14,43,94 nq=96"},
      {"all-slack", "d=16 hq=2 cu_q=0,0 cu_k=0,0 nq=17 nk=19"},
      // LSE by head and token: of one query head, or of a member, in another's place.
      {"lse-places", "d=16 hq=6 hkv=3 cu_q=0,1,18,19 cu_k=0,65,82,83 nq=19 nk=83 dlse"},
  };
  for (const Named& fault : faults) builder.add("members", fault, gated);
}

/// Query heads that share keys.
void add_heads(Builder& builder) {
  // The row's index divided by the group's size before the causal limit is found; dK, dV not summed
  // over the group; accuracy that depends on the number of key heads.
  constexpr Index ratios[][2] = {{8, 8}, {8, 4}, {8, 2}, {8, 1}, {6, 3},
                                 {6, 2}, {6, 1}, {3, 1}, {12, 4}};
  for (const auto& [heads_q, heads_kv] : ratios)
    for (const Index n_q : {1, 2, 17})
      builder.add_point("heads", {text(heads_q) + '-' + text(heads_kv) + "-rows-" + text(n_q),
                                  "d=16 causal nk=30 hq=" + text(heads_q) +
                                      " hkv=" + text(heads_kv) + " nq=" + text(n_q)});
  const Named faults[] = {
      {"causal", "hq=8 hkv=2 nq=30 nk=41 d=16 causal"},
      // Heads packed into rows of one tile: fewer rows than heads, more than a tile of them.
      {"fewer-queries-than-heads", "hq=8 hkv=1 nq=2 nk=40 d=16 causal"},
      {"packed-rows-past-a-tile", "hq=8 hkv=1 nq=9 nk=70 d=16 causal"},
      {"constant-v", "hq=8 hkv=2 nq=40 d=32 data=constant-v"},
  };
  for (const Named& fault : faults) builder.add("heads", fault, gated);
}

}  // namespace flashbook::conformance
