#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// Magnitudes at one row, at one tile, and past it.
void add_magnitudes(Builder& builder) {
  for (const char* data : {"five-normal", "outlier", "sharp", "logits-1e4", "logits-std-1e2",
                           "logits-std-1e3", "logits-1e10"})
    for (const Index n : {1, 17, 65})
      builder.add_point("logits", {data + ('-' + text(n)),
                                   "hq=2 d=32 data=" + std::string(data) + " nq=" + text(n)});
  const Named faults[] = {
      // m·c in place of (s − m)·c: a single key must give O = V whatever its logit.
      {"one-key-1e10", "nq=1 nk=1 d=64 data=logits-1e10"},
      {"one-key-1e10-each", "nq=40 d=64 causal window=0,0 data=logits-1e10"},
      // exp without a maximum is 0/0 where all scores are −1000; −1e4 serves as "minus infinity".
      {"all-minus-1e4", "nq=65 d=32 bias=1,1,1,1 biasdata=minus-1e4"},
      {"rows-below-minus-1e4", "nq=60 d=32 bias=1,1,1,k biasdata=minus-1e4 causal"},
      // The same without a bias: half of the keys have logits far below −1e4, and some rows no
      // other.
      {"one-key-far-below", "nq=60 nk=1 d=32 scale=10000"},
      {"few-keys-far-below", "nq=60 nk=3 d=32 scale=10000"},
      // e^LSE overflows.
      {"large-lse", "nq=60 d=32 data=logits-std-1e3 sinks dlse"},
      // scale·dS underflows in fp16.
      {"underflow-of-ds", "nq=130 d=64 data=logits-std-1e2"},
      // The backward pass rounds scale·K to 16 bits, the forward pass does not: P no longer agrees.
      {"scaled-beforehand", "nq=40 d=32 scale=0.3 data=logits-std-1e2 causal"},
  };
  for (const Named& fault : faults) builder.add("logits", fault, gated);
}

/// Scores that leave those of the first tiles far behind, on either way through the keys:
/// exponentials relative to anything but the running maximum overflow, or must be taken back. Only
/// tensor cores, which take 16 bits, make that tempting.
void add_distant_keys(Builder& builder) {
  const auto add = [&](const char* name, const std::string& words, const char* dtype) {
    builder.add("distant", {name, words}, dtype);
  };
  for (const char* dtype : {"fp16", "bf16"})
    for (const char* data : {"rising", "falling", "huge-key", "huge-half"})
      add(data, "nq=70 nk=450 d=64 data=" + std::string(data), dtype);
  add("rising-causal", "nq=450 d=16 causal data=rising", "bf16");
  add("huge-key-causal", "nq=450 d=16 causal data=huge-key", "bf16");
  add("falling-causal", "nq=450 d=16 causal data=falling", "fp16");
  add("huge-half-causal", "nq=450 d=16 causal data=huge-half", "fp16");
  // Some rows see no key of the first tiles, or none at all.
  add("empty-rows", "nq=450 nk=300 d=16 causal data=rising", "bf16");
  add("many-keys", "nq=5 nk=900 d=128 data=huge-half", "bf16");
  // Arithmetic hides the first tiles: a row has no maximum yet, though it sees all their keys.
  add("hidden-half", "nq=70 nk=640 d=16 data=rising plant=minus-inf-k", "bf16");
  // A window's first tile has few keys for some rows; members whose rows share a tile with others'.
  add("rising-window", "nq=200 nk=450 d=16 window=150,40 data=rising", "fp16");
  for (const char* data : {"rising", "huge-key"})
    add((data + std::string("-members")).c_str(),
        "nq=205 nk=450 d=16 cu_q=0,70,200 cu_k=0,290,440 data=" + std::string(data), "bf16");
  // Equal keys in many tiles: their products with c are rounded alike, and off by far more than 1.
  for (const char* d : {"64", "128", "256"})
    add((std::string("equal-keys-1e10-d") + d).c_str(),
        std::string("nq=70 nk=450 data=logits-1e10 d=") + d, "bf16");
  // Products of P and V overflow before P does.
  add("large-v", "nq=70 nk=450 d=64 data=rising-large-v", "bf16");
}

/// Signs and sizes of the scale, in both passes.
void add_scales(Builder& builder) {
  // 1/√64 hard-coded; gradients right for scale 1 alone; a maximum taken before the scale's sign.
  for (const char* scale : {"-2", "-1", "-0.125", "0", "0.01", "0.125", "0.5", "1", "1.4427", "3"})
    builder.add_point("scale", {scale, "nq=40 nk=50 d=32 causal scale=" + std::string(scale)});
}

/// Soft-caps that do nothing, that bend, and that are reached.
void add_softcaps(Builder& builder) {
  for (const char* cap : {"0.5", "2", "30"})
    for (const char* data : {"normal", "five-normal", "logits-1e4"})
      builder.add_point("softcap", {cap + ('-' + std::string(data)),
                                    "hq=2 nq=33 nk=40 d=32 causal softcap=" + std::string(cap) +
                                        " data=" + data});
  // tanh by exp(x)/exp(−x) is ∞/∞.
  builder.add("softcap", {"saturated", "nq=40 d=32 softcap=50 data=logits-1e4"}, gated);
}

/// One sink a head, beside scores of every magnitude.
void add_sinks(Builder& builder) {
  // The sink enters once a tile or once a split; an empty row's LSE is the sink's logit.
  for (const char* data : {"normal", "five-normal", "flat", "sharp", "logits-minus-100"})
    builder.add_point("sinks", {data, "hq=4 hkv=2 nq=40 nk=130 d=16 causal sinks dlse data=" +
                                          std::string(data)});
  // Δ of empty rows, sinks, a gradient of the LSE at once.
  builder.add("sinks", {"empty-rows", "nq=60 nk=20 hq=2 d=16 causal sinks dlse"}, gated);
}

/// Decoding: keys that end just before, at and after what a split of 128 or 256 holds.
void add_splits(Builder& builder) {
  // The last split holds one key, or none; its LSE is −∞ and its weight must be 0.
  for (const Index n_k : {127, 128, 129, 255, 256, 257, 385})
    builder.add_point("split", {text(n_k), "hq=2 nq=1 d=32 nk=" + text(n_k)});
  const Named faults[] = {
      {"grouped", "hq=8 hkv=2 nq=1 nk=257 d=32"},
      {"three-queries", "hq=2 nq=3 nk=257 d=32 causal"},
      // Splits that see nothing: the global maximum of a row is that of one split.
      {"window", "hq=2 nq=1 nk=257 d=32 window=9,0"},
      {"padded", "b=3 hq=2 nq=1 nk=130 d=32 bias=b,1,1,k biasdata=padded"},
      // Scores far apart from split to split: weights relative to another's maximum under- and
      // overflow.
      {"far-apart", "hq=2 nq=1 nk=257 d=32 data=logits-std-1e3"},
      {"sinks", "hq=4 hkv=2 nq=1 nk=257 d=32 sinks dlse"},
  };
  for (const Named& fault : faults) builder.add("split", fault, gated);
}

/// No cotangent, no gradient: exactly, also where rows are empty or the loss has LSE in it.
void add_zero_cotangents(Builder& builder) {
  const Named options[] = {{"causal", "causal"},
                           {"empty-rows", "nq=70 nk=20 causal"},
                           {"dlse", "dlse"},
                           {"sinks", "sinks dlse"},
                           {"bias", "bias=1,h,q,k"},
                           {"grouped", "hq=4 hkv=2"},
                           {"members", "hq=2 cu_q=0,9,9,30 cu_k=0,14,31,31 nq=33 nk=33"}};
  for (const Named& option : options)
    builder.add_point("zero", {option.name, merged("hq=2 nq=33 d=16 do=zero", option.words)});
}

}  // namespace

/// How large scores are, and what is made of them.
void add_numbers(Builder& builder) {
  add_magnitudes(builder);
  add_distant_keys(builder);
  add_scales(builder);
  add_softcaps(builder);
  add_sinks(builder);
  add_splits(builder);
  add_zero_cotangents(builder);
}

/// What is added to scores: bias and ALiBi.
void add_added(Builder& builder) {
  // Each axis broadcast or not: another axis's stride, dBias summed over too few.
  for (int axes = 0; axes < 16; ++axes) {
    std::string shape;
    for (int axis = 0; axis < 4; ++axis)
      shape += std::string(axis ? "," : "") + (axes >> axis & 1 ? "bhqk"[axis] : '1');
    builder.add_point("bias", {"shape-" + shape, "b=2 hq=2 nq=17 nk=43 d=8 bias=" + shape});
  }
  const Named biases[] = {
      // A row's length that is no multiple of 8, or of what a vector holds; keys not contiguous.
      {"odd-pitch", "nq=17 nk=43 hq=2 d=8 bias=1,h,q,k strides_bias=0,820,47,1"},
      {"every-third", "nq=17 nk=43 hq=2 d=8 bias=1,h,q,k strides_bias=0,2210,130,3"},
      {"expanded", "nq=17 nk=43 hq=2 d=8 bias=1,h,q,k strides_bias=0,0,0,1"},
      // Evaluated where the mask hides the pair: it holds NaN there.
      {"hidden", "nq=65 d=32 causal bias=1,h,q,k hq=2"},
      {"hidden-window", "nq=65 nk=80 d=16 window=16,0 bias=1,h,q,k"},
      {"hidden-relative", "nq=129 d=16 causal bias=1,h,q,k"},
      // Padding of a batch: one entry has no key left. Its neighbours are what they are alone.
      {"padded", "b=4 hq=2 nq=20 nk=70 d=16 bias=b,1,1,k biasdata=padded"},
      {"padded-causal", "b=4 hq=2 nq=70 nk=70 d=16 causal bias=b,1,1,k biasdata=padded"},
      {"padded-sinks", "b=4 hq=2 nq=20 nk=70 d=16 sinks dlse bias=b,1,1,k biasdata=padded"},
      // The lowest finite number in place of −∞: a score more, and it is −∞; the first tiles hold
      // nothing else.
      {"lowest", "nq=20 nk=200 d=16 bias=1,1,1,k biasdata=lowest"},
      {"lowest-in-one-tile", "nq=20 nk=40 d=16 bias=1,1,q,k biasdata=lowest"},
  };
  for (const Named& bias : biases) builder.add("bias", bias, gated);
  // |i + N_k − N_q − j|: the row's own number in place of its diagonal, or one off, which O does
  // not see and LSE does.
  constexpr Index sizes[][2] = {{1, 60}, {2, 60}, {60, 21}, {16, 17}, {65, 64}, {70, 70}};
  for (const auto& [n_q, n_k] : sizes)
    for (const Named& form : {Named{"dense", "alibi=h"},
                              {"causal", "alibi=h causal"},
                              {"top-left", "alibi=bh b=2 align=top-left"}})
      builder.add_point("alibi",
                        {form.name + '-' + text(n_q) + 'x' + text(n_k),
                         "hq=4 d=16 nq=" + text(n_q) + " nk=" + text(n_k) + ' ' + form.words});
  builder.add("alibi",
              {"members",
               "hq=4 hkv=2 d=16 causal alibi=bh nq=30 nk=70 cu_q=0,1,18,30 "
               "cu_k=0,40,41,70"},
              gated);
}

}  // namespace flashbook::conformance
