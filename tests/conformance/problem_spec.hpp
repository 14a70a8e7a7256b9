#pragma once

#include <string>
#include <string_view>

#include "cpu_reference/attention_problem.hpp"

/// A problem and its data as one line of text: what `verify --problem "…"` takes, and what a
/// failure prints so that it can be run again.
namespace flashbook::conformance {

/// What the inputs hold. The names in text are those of the enumerators, with '-' for '_'.
enum class Values {
  normal,         ///< N(0,1)
  five_normal,    ///< 5·N(0,1)
  small_normal,   ///< N(0,1)/8
  outlier,        ///< N(0,1), one element in 128 with N(0,100) on top
  flat,           ///< Q = 0: every visible key weighs the same
  constant_v,     ///< every token the same V: the exact dS is 0
  flat_constant,  ///< both
  repeated,       ///< five distinct tokens, over and over
  q_is_k,         ///< Q = K
  q_is_k_is_v,    ///< Q = K = V
  sharp,          ///< row i's logit of key i is about 30 above the rest
  logits_1e4,     ///< every logit 1e4 or −1e4
  logits_std_1e2,
  logits_std_1e3,
  logits_minus_100,  ///< every logit about −100
  logits_1e10,       ///< every logit about 1e10
  rising,            ///< logits rise by 100 from the first key to the last
  falling,           ///< the other way round
  huge_key,          ///< the logit of one key, a fifth down the tokens, is 200 above the others
  huge_half,         ///< those of the first half of the keys are 60 above the others
  rising_large_v,    ///< rising, and V is 2^30·N(0,1), in fp16 2^9·N(0,1)
};

/// What the cotangents hold.
enum class CotangentValues { normal, ones, zero };

/// What the bias holds, if there is one.
enum class BiasValues {
  normal,
  minus_1e4,  ///< −1e4 + N(0,1): an ordinary row, though every logit is far below zero
  hidden,     ///< N(0,1), one entry in five −∞, and all entries of query 1
  padded,  ///< a padding mask, 0 or −∞: each batch entry has ⌈N_k/3⌉ keys fewer, the third none
  lowest,  ///< 0, but for the first third of the keys, which have the type's lowest finite number
};

/// One element that is not a number, in the first head, two thirds down the tokens; but for the
/// last.
enum class Planted {
  none,
  nan_q,
  nan_k,
  nan_v,
  nan_do,
  nan_bias,
  inf_k,
  inf_v,
  inf_k_nan_v,  ///< one in each, of one key: arithmetic hides it from some rows
  minus_inf_k,  ///< channel 0 of the second half of all keys: hidden where Q's is positive
};

struct Recipe {
  Values values = Values::normal;
  CotangentValues cotangents = CotangentValues::normal;
  BiasValues bias = BiasValues::normal;
  Planted planted = Planted::none;

  bool operator==(const Recipe&) const = default;
};

struct ProblemSpec {
  AttentionProblem problem;
  Recipe recipe;
};

/// Reads `key=value` and bare words separated by blanks. Every field of the problem has a key; what
/// is not given has its default, in brackets:
///   b hq hkv nq nk d dv   sizes [1 1 hq 64 nq 64 d]
///   dtype                 fp16, bf16, fp32, fp64 [fp32]
///   causal                a bare word
///   align                 bottom-right, top-left [bottom-right]
///   window                LEFT,RIGHT; inf is unbounded [inf,inf]
///   scale softcap         numbers [1/√d, no cap]
///   bias                  four axes: b or 1, h or 1, q or 1, k or 1 [no bias]
///   alibi                 h or bh [no slopes]
///   sinks dlse            bare words
///   cu_q cu_k             token offsets; both make the problem packed
///   layout                bnhd, bhnd [bnhd]
///   strides_T             batch,token,head of tensor T: q k v o do dq dk dv [the layout's]
///   strides_bias          four strides [contiguous]
///   data do biasdata plant  the recipe: enumerators above with '-' for '_' [normal normal normal
///   none]
/// Sizes are at most 2^20 entries, 2^12 heads, 2^24 tokens, 2^12 channels, and no product of them
/// exceeds 2^48. Throws InputError naming the word, its value and what is accepted.
ProblemSpec parse_problem(std::string_view text);

/// The line parse_problem reads back to the same problem. Only what differs from a default is in
/// it.
std::string format_problem(const ProblemSpec& spec);

}  // namespace flashbook::conformance
