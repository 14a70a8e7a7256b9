#include "tests/conformance/cases/builder.hpp"

namespace flashbook::conformance {
namespace {

/// How one tensor lies, whatever the others do.
struct Placement {
  const char *name, *strides;
  bool inputs_only;
};
constexpr Placement placements[] = {
    {"odd", "1301,41,19", false},          // rows that start at no multiple of 4, 8 or 16 bytes
    {"backward", "960,-32,16", false},     // a negative stride
    {"heads-first", "960,16,480", false},  // [B, H, N, d], the others [B, N, H, d]
    {"one-token", "32,0,16", true},        // expanded: every token the same memory
    {"one-head", "480,16,0", true},        // expanded over heads, as a shared key is
    {"one-batch", "0,32,16", true},
};

}  // namespace

/// Sizes that fill no tile.
void add_tails(Builder& builder) {
  // Padding columns of a tile pass exp(0 − LSE), which overflows where every score is far below 0:
  // all of dQ is NaN at some lengths, and right at others.
  for (const Index n : {1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 95, 96, 112, 127, 128, 129})
    builder.add_point("tail", {"minus-100-" + text(n), "d=32 data=logits-minus-100 nq=" + text(n)});
  // N_q used for N_k, or a block larger than the problem.
  for (const Index n_k : {1, 7, 33, 64, 65, 130})
    builder.add_point("tail", {"long-queries-" + text(n_k), "d=16 nq=131 nk=" + text(n_k)});
  const Named faults[] = {
      {"minus-100-d64", "nq=64 d=64 data=logits-minus-100"},
      {"minus-100-d64-odd", "nq=70 d=64 data=logits-minus-100"},
      {"minus-100-padded", "nq=64 nk=192 d=64 data=logits-minus-100 bias=1,1,1,k biasdata=padded"},
      // The backward pass alone cannot take the length.
      {"no-friendly-length", "nq=133 d=32 causal"},
  };
  for (const Named& fault : faults) builder.add("tail", fault, gated);
  // d − 1, d, d + 1 of whatever a fragment, a vector or a bucket holds; d_v in steps of 8, of which
  // some columns are wrong beside a d of another bucket.
  for (const Index d : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 127, 128, 129})
    builder.add_point("dims", {"d" + text(d), "nq=17 nk=33 causal d=" + text(d)});
  for (const Index d : {64, 128})
    for (Index d_v = 8; d_v <= d; d_v += 8)
      builder.add_point("dims", {'d' + text(d) + "-dv" + text(d_v),
                                 "nq=17 nk=19 d=" + text(d) + " dv=" + text(d_v)});
}

/// Where tensors lie. Data differ from head to head, gaps hold NaN, and must hold it afterwards.
void add_strides(Builder& builder) {
  // One tensor read or written as if it lay like the others.
  for (const char* tensor : {"q", "k", "v", "o", "do", "dq", "dk", "dv"})
    for (const Placement& placement : placements) {
      const bool is_input = std::string_view("q k v do").find(tensor) != std::string_view::npos &&
                            std::string_view(tensor) != "o";
      if (placement.inputs_only && !is_input) continue;
      builder.add_point("strides", {tensor + ('-' + std::string(placement.name)),
                                    "b=2 hq=2 nq=20 nk=30 d=16 strides_" + std::string(tensor) +
                                        '=' + placement.strides});
    }
  const Named faults[] = {
      // Axes of size 1 have any stride.
      {"size-1", "nq=1 nk=20 d=16 strides_q=7,3,5 strides_o=-3,1,0 strides_dq=0,0,0"},
      {"size-1-channel", "nq=9 d=1 hq=2 strides_q=99,5,2 strides_k=99,7,3 strides_dv=70,7,3"},
      {"backward-heads", "hq=2 nq=20 d=16 strides_q=640,-32,16 strides_dk=640,32,-16"},
      // All heads read head 0 where [B, H, N, d] is given as strides.
      {"heads-first", "b=2 hq=3 nq=20 nk=30 d=16 layout=bhnd"},
      // dO of a sum: one element, expanded.
      {"expanded-cotangent", "hq=2 nq=1 nk=130 d=16 strides_do=0,0,0"},
      {"expanded-cotangent-ones", "hq=2 nq=70 d=16 strides_do=0,0,0 do=ones causal"},
      // Rows written at another tensor's stride.
      {"split-decode", "hq=2 nq=3 nk=257 d=32 strides_o=400,80,40"},
      // A batch stride that is no multiple of the token's.
      {"batch-pitch", "b=3 hq=2 nq=17 nk=18 d=16 strides_q=577,32,16 strides_dk=599,32,16"},
  };
  for (const Named& fault : faults) builder.add("strides", fault, gated);
}

/// Few and large: counts beyond 16 bits. So slow on an emulator that they run by name alone.
void add_large(Builder& builder) {
  const Named faults[] = {
      // A grid's second and third dimension end at 65,535.
      {"batch-65537", "b=65537 nq=1 nk=1 d=1"},
      // An offset or a length in 16 bits.
      {"keys-33000", "nq=1 nk=33000 d=8"},
      {"queries-33000", "nq=33000 nk=1 d=8"},
      {"heads-2100", "hq=2100 hkv=70 nq=2 nk=3 d=4 causal"},
  };
  for (const Named& fault : faults) builder.add("large", fault, "bf16");
}

}  // namespace flashbook::conformance
