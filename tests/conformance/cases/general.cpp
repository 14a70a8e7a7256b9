#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// An option of the contract; two of one group exclude each other.
struct Option {
  const char *group, *name, *words;
};
constexpr const char* option_base = "hq=2 nq=35 nk=45 d=16";
constexpr Option options[] = {
    {"mask", "causal", "causal"},
    {"mask", "causal-top-left", "causal align=top-left"},
    {"mask", "top-left", "align=top-left"},
    {"window", "window", "window=9,4"},
    {"window", "window-left", "window=7,inf"},
    {"window", "window-right", "window=inf,3"},
    {"window", "window-zero", "window=0,0"},
    {"window", "window-negative", "window=-3,20"},
    {"window", "window-empty", "window=7,-8"},
    {"softcap", "softcap", "softcap=2"},
    {"bias", "bias", "bias=b,h,q,k"},
    {"bias", "bias-keys", "bias=1,1,1,k"},
    {"bias", "bias-queries", "bias=b,h,q,1"},
    {"bias", "bias-hidden", "bias=1,h,q,k biasdata=hidden"},
    {"bias", "bias-odd-strides", "bias=1,h,q,k strides_bias=0,1647,47,1"},
    {"alibi", "alibi", "alibi=h"},
    {"alibi", "alibi-members", "alibi=bh"},
    {"sinks", "sinks", "sinks"},
    {"dlse", "dlse", "dlse"},
    {"heads", "grouped", "hq=4 hkv=2"},
    {"heads", "multi-query", "hq=3 hkv=1"},
    {"dv", "d-not-dv", "dv=24"},
    {"batch", "packed", "cu_q=0,9,9,30 cu_k=0,14,31,31"},  // an empty side each; slack
    {"batch", "batch", "b=2"},
    {"scale", "scale-negative", "scale=-0.3"},
    {"scale", "scale-zero", "scale=0"},
    {"scale", "scale-large", "scale=2"},
    {"layout", "bhnd", "layout=bhnd"},
    {"layout", "padded",
     "strides_q=4000,90,20 strides_k=5000,91,21 strides_v=5000,105,25 strides_o=4000,107,26 "
     "strides_do=4100,101,25 strides_dq=4000,93,22 strides_dk=5000,93,23 strides_dv=5000,111,27"},
    {"layout", "expanded", "strides_q=0,16,0 strides_k=0,16,0 strides_v=0,24,0 strides_do=0,0,0"},
};

}  // namespace

/// Sizes around the tiles kernels use: 1, tile − 1, tile, tile + 1, primes, N_q ≠ N_k both ways.
void add_sizes(Builder& builder) {
  constexpr int sizes[][2] = {{1, 1},    {1, 17},    {17, 1},    {15, 16},   {16, 15}, {16, 16},
                              {17, 16},  {31, 33},   {64, 64},   {63, 65},   {65, 63}, {37, 101},
                              {101, 37}, {127, 129}, {128, 128}, {129, 127}, {1, 257}, {257, 1}};
  for (const auto& [n_q, n_k] : sizes)
    for (const Named& mask :
         {Named{"", ""}, {"-causal", "causal"}, {"-causal-top-left", "causal align=top-left"}})
      builder.add(
          "size",
          {std::to_string(n_q) + 'x' + std::to_string(n_k) + mask.name,
           "d=32 nq=" + std::to_string(n_q) + " nk=" + std::to_string(n_k) + ' ' + mask.words},
          gated);
  // Head dimensions with tails, d_v in steps of 8.
  constexpr int dims[][2] = {{1, 1},     {3, 5},     {8, 8},     {40, 40},  {63, 63},
                             {64, 64},   {64, 72},   {96, 96},   {120, 8},  {128, 96},
                             {128, 120}, {128, 128}, {192, 128}, {256, 256}};
  for (const auto& [d, d_v] : dims)
    builder.add("size",
                {"d" + std::to_string(d) + "-dv" + std::to_string(d_v),
                 "nq=19 nk=35 d=" + std::to_string(d) + " dv=" + std::to_string(d_v)},
                gated);
}

/// What the inputs hold. Constant V is the sharpest test of Δ and of O's accumulation; q = k and
/// 5·N(0,1) come next; scale and dV want N(0,1). Logits of 1e4 test range only.
void add_data(Builder& builder) {
  const Named recipes[] = {{"normal", ""},
                           {"five-normal", "data=five-normal"},
                           {"small-normal", "data=small-normal"},
                           {"outlier", "data=outlier"},
                           {"flat", "data=flat"},
                           {"flat-ones", "data=flat do=ones"},
                           {"constant-v", "data=constant-v"},
                           {"flat-constant", "data=flat-constant"},
                           {"repeated", "data=repeated"},
                           {"q-is-k", "data=q-is-k"},
                           {"q-is-k-is-v", "data=q-is-k-is-v"},
                           {"sharp", "data=sharp"},
                           {"logits-1e4", "data=logits-1e4"},
                           {"logits-std-1e2", "data=logits-std-1e2"},
                           {"logits-std-1e3", "data=logits-std-1e3"},
                           {"logits-minus-100", "data=logits-minus-100"},
                           {"bias-minus-1e4", "bias=1,1,q,k biasdata=minus-1e4"},
                           {"do-zero", "do=zero"}};
  for (const Named& recipe : recipes) {
    builder.add("data", {recipe.name, "hq=2 nq=130 d=32 " + recipe.words}, gated);
    builder.add("data", {recipe.name + "-causal", "hq=2 nq=130 d=32 causal " + recipe.words},
                gated);
  }
}

/// Every option alone and with every other.
void add_options(Builder& builder) {
  for (const Option& a : options) {
    builder.add("option", {a.name, merged(option_base, a.words)}, all_dtypes);
    for (const Option* b = &a + 1; b != std::end(options); ++b) {
      if (std::string_view(a.group) == b->group) continue;
      builder.add(
          "pair",
          {std::string(a.name) + '+' + b->name, merged(merged(option_base, a.words), b->words)},
          all_dtypes);
    }
  }
}

/// Options at every head dimension that kernels are compiled for, which may have tiles and code of
/// its own: a window with partial tiles on both sides of full ones, what changes scores, members.
void add_dims(Builder& builder) {
  for (const Index d : {32, 64, 96, 128, 192, 256}) {
    const std::string name = 'd' + text(d), words = " d=" + text(d);
    builder.add("dims", {name + "-window", "nq=140 nk=420 window=230,30" + words}, gated);
    // Keys that no row sees begin beside a full tile.
    builder.add("dims", {name + "-few-rows", "nq=10 nk=420 window=230,30" + words}, gated);
    builder.add("dims",
                {name + "-options",
                 "hq=2 nq=70 nk=130 causal softcap=5 bias=1,h,q,k alibi=h sinks" + words},
                gated);
    builder.add("dims",
                {name + "-capped", "hq=2 nq=140 nk=420 window=230,30 softcap=5 sinks" + words},
                gated);
    builder.add(
        "dims",
        {name + "-packed",
         "hq=2 hkv=1 causal sinks nq=205 nk=292 cu_q=0,0,70,70,201 cu_k=0,5,5,90,290" + words},
        gated);
  }
}

/// Sizes of 0.
void add_degenerate(Builder& builder) {
  const Named sizes[] = {{"no-queries", "nq=0 nk=7"},
                         {"no-keys", "nq=7 nk=0"},
                         {"nothing", "nq=0 nk=0"},
                         {"no-batch", "b=0 nq=7"},
                         {"no-members", "nq=5 cu_q=0 cu_k=0"},
                         {"empty-members", "nq=5 cu_q=0,0,0 cu_k=0,0,0"},
                         {"no-keys-members", "nq=8 nk=0 cu_q=0,4,8 cu_k=0,0,0 causal"}};
  for (const Named& size : sizes) {
    builder.add("degenerate", {size.name, "d=16 hq=2 " + size.words}, all_dtypes);
    builder.add(
        "degenerate",
        {size.name + "-options", "d=16 hq=2 hkv=1 bias=b,h,q,k alibi=h sinks dlse " + size.words},
        all_dtypes);
  }
}

/// What the fuzzer found, at its smallest, with heads enough for the data to vary.
void add_fuzzed(Builder& builder) {
  const Named found[] = {
      // tanh of an infinite score is exactly 1: the other channels of dQ are ordinary numbers.
      {"capped-infinite-score", "hq=4 nq=1 nk=2 d=2 dv=1 softcap=30 plant=inf-k"},
      // 1 − tanh² near the cap has no digit that is right.
      {"cap-reached", "hq=8 nq=1 nk=2 d=1 softcap=0.5 data=sharp"},
      {"cap-reached-one-key", "nq=8 nk=1 d=2 dv=1 causal softcap=30 dlse data=logits-std-1e3"},
      // Weights beside a sink below what fp32 holds.
      {"weights-underflow", "hq=8 nq=1 d=1 sinks data=logits-minus-100"},
      // Nothing but the sink weighs: NaN in dO is beside a row that looks empty.
      {"nan-beside-a-sink", "nq=1 d=1 sinks data=logits-std-1e3 plant=nan-do"},
      // dK may overflow fp16, in either direction, and may not.
      {"overflow-of-dk", "hq=8 nq=3 d=1 data=logits-1e10"},
      {"overflow-of-dk-either-sign", "hq=8 nq=4 d=1 dv=3 causal bias=1,1,1,k data=logits-1e10"},
      // Scores stored in 16 bits are off by whole units: the LSE's error multiplies the weight's.
      {"stored-scores-at-1e4",
       "hq=8 nq=3 nk=3 d=2 bias=1,1,1,1 data=logits-std-1e2 "
       "biasdata=minus-1e4"},
      // One infinite score hides that finite ones cannot be stored.
      {"infinite-beside-overflow", "nq=9 d=8 causal align=top-left data=logits-1e10 plant=inf-k"},
      // 256 elements, of which few are not 0, are few.
      {"few-keys-of-many",
       "hq=2 nq=4 nk=16 d=8 causal align=top-left softcap=0.5 sinks "
       "cu_q=0,1,3,4 cu_k=0,1,5,7"},
  };
  for (const Named& problem : found) builder.add("fuzz", problem, gated);
}

/// Few and small, for tools that slow a kernel a hundredfold: compute-sanitizer, and the emulator
/// in many orders of warps. Tails of rows, keys and channels, every head dimension that kernels are
/// compiled for, rows that no vector of 16 bytes fits.
void add_sanitize(Builder& builder) {
  const Named problems[] = {
      {"tails", "hq=2 nq=70 nk=83 d=64 causal"},
      {"top-left", "nq=83 nk=70 d=64 causal align=top-left"},
      {"grouped", "b=2 hq=4 hkv=2 nq=33 nk=65 d=32 dlse"},
      {"odd-channels", "nq=21 nk=35 d=27 dv=43"},
      {"d128", "nq=17 nk=66 d=128 causal"},
      {"d256", "nq=18 nk=33 d=256"},
      {"one", "nq=1 nk=1 d=64"},
      {"padded", "hq=2 nq=19 nk=20 d=40 layout=bhnd strides_k=2000,41,1000 strides_o=2000,43,1000"},
  };
  for (const Named& problem : problems) builder.add("sanitize", problem, gated);
}

}  // namespace flashbook::conformance
