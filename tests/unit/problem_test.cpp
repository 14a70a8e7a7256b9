// Problems: what is refused and how it is said, and the line of text that stands for one.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "cpu_reference/error.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/problem_spec.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;

/// What AttentionProblem says of a problem changed so; empty if it takes it.
std::string refusal(const std::function<void(flashbook_problem&)>& edit,
                    std::vector<std::int64_t> cu_q = {}, std::vector<std::int64_t> cu_k = {}) {
  flashbook_problem p = dense_problem(2, 4, 2, 10, 12, 8, 6);
  edit(p);
  try {
    AttentionProblem(p, std::move(cu_q), std::move(cu_k));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string parse_error(const std::string& text) {
  try {
    parse_problem(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

void packed(flashbook_problem& p) {
  p.batch = 1;
  p.packed = 1;
  p.members = 2;
}

#define CHECK_SAYS(message, ...)                   \
  do {                                             \
    const std::string said = message;              \
    CAPTURE(said);                                 \
    for (const char* part : {__VA_ARGS__}) {       \
      CAPTURE(part);                               \
      CHECK(said.find(part) != std::string::npos); \
    }                                              \
  } while (false)

using P = flashbook_problem;

constexpr std::int64_t limit = std::int64_t{1} << 60;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("a refusal names the field, its value and the remedy") {
  CHECK(refusal([](P&) {}).empty());
  CHECK_SAYS(refusal([](P& p) { p.size = 8; }), "problem.size is 8", "recompile");
  CHECK_SAYS(refusal([](P& p) { p.version = 9; }), "problem.version 9", "recompile");
  CHECK_SAYS(refusal([](P& p) { p.batch = -1; }), "batch (B) is -1", "at least 0");
  CHECK_SAYS(refusal([](P& p) { p.n_q = -5; }), "n_q (N_q) is -5", "at least 0");
  CHECK_SAYS(refusal([](P& p) { p.n_k = std::int64_t{1} << 60; }), "n_k (N_k)", "below 2^60");
  CHECK_SAYS(refusal([](P& p) { p.heads_kv = 0; }), "heads_kv (H_kv) is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.heads_q = 0; }), "heads_q (H_q) is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.d = 0; }), "d is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.d_v = 0; }), "d_v is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.heads_q = 5; }), "H_q is 5", "H_kv is 2", "multiple");
  CHECK_SAYS(refusal([](P& p) { p.dtype = 4; }), "dtype is 4", "fp16, bf16, fp32, fp64");
  CHECK_SAYS(refusal([](P& p) { p.dtype = -1; }), "dtype is -1", "fp16, bf16, fp32, fp64");
  CHECK_SAYS(refusal([](P& p) { p.alignment = 2; }), "alignment is 2", "bottom-right or top-left");
  CHECK_SAYS(refusal([](P& p) { p.alibi = 3; }), "alibi is 3", "[B, H_q]");
  CHECK_SAYS(refusal([](P& p) { p.alibi = -1; }), "alibi is -1", "[B, H_q]");
  CHECK_SAYS(refusal([](P& p) { p.causal = 2; }), "causal is 2", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.packed = 2; }), "packed is 2", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.has_bias = 2; }), "has_bias is 2", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.has_dlse = 2; }), "has_dlse is 2", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.has_sinks = -1; }), "has_sinks is -1", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.scale = 1.0 / 0.0; }), "scale is inf", "finite");
  CHECK_SAYS(refusal([](P& p) { p.softcap = -1; }), "softcap is -1",
             "above 0 in fp32, or 0 for no cap");
  CHECK_SAYS(refusal([](P& p) { p.window_left = -limit; }), "window_left", "unbounded");
  CHECK_SAYS(refusal([](P& p) { p.window_right = limit; }), "window_right", "unbounded");
  CHECK(refusal([](P& p) { p.window_right = limit - 1; }).empty());
}

TEST_CASE("scale and soft-cap mean something in the type that is computed in") {
  const auto of = [](std::int32_t dtype, double scale, double softcap) {
    return refusal([=](P& p) {
      p.dtype = dtype;
      p.scale = scale;
      p.softcap = softcap;
    });
  };
  CHECK_SAYS(of(FLASHBOOK_FP32, 1e300, 0), "scale is 1e+300", "finite in fp32");
  CHECK(of(FLASHBOOK_FP64, 1e300, 0).empty());
  CHECK_SAYS(of(FLASHBOOK_FP64, infinity, 0), "scale is inf", "finite in fp64");
  CHECK_SAYS(of(FLASHBOOK_FP16, 1, infinity), "softcap is inf");
  CHECK_SAYS(of(FLASHBOOK_FP16, 1, 1e-60), "softcap is 1e-60", "above 0 in fp32");
  CHECK(of(FLASHBOOK_FP64, 1, 1e-60).empty());
}

TEST_CASE("strides: overlapping outputs are refused, size-1 and input strides are free") {
  CHECK_SAYS(refusal([](P& p) { p.o.token = 5; }), "output o", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_q.batch = 0; }), "output grad_q", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_k.head = 7; }), "output grad_k", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_v.head = 5; }), "output grad_v", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.o.token = 10; }), "output o", "overlap");  // 4 heads of stride 6
  CHECK(refusal([](P& p) { p.q = p.k = p.v = p.grad_o = {0, 0, 0}; }).empty());
  CHECK(refusal([](P& p) {
          p.batch = p.members = 1;
          p.o.batch = 0;
        }).empty());
}

TEST_CASE("an input may reach to 2^60 elements, along its tokens and along its heads") {
  struct Axes {
    flashbook_strides P::*strides;
    std::int64_t tokens, heads;
  };
  const std::int64_t spare = 1 << 20;
  for (const Axes& input :
       {Axes{&P::q, 10, 4}, Axes{&P::k, 12, 2}, Axes{&P::v, 12, 2}, Axes{&P::grad_o, 10, 4}}) {
    const auto with = [&](const flashbook_strides& strides) {
      return refusal([&](P& p) { p.*input.strides = strides; });
    };
    const std::int64_t token = (limit - spare) / (input.tokens - 1);
    const std::int64_t head = (limit - spare) / (input.heads - 1);
    CHECK(with({0, token, 0}).empty());
    CHECK(with({0, 0, -head}).empty());
    CHECK_SAYS(with({0, token + spare, 0}), "the strides of", "2^60");
    CHECK_SAYS(with({0, 0, -head - spare}), "the strides of", "2^60");
    CHECK_SAYS(with({limit, 0, 0}), "the strides of", "2^60");
  }
  CHECK(refusal([](P& p) {
          p.n_q = 0;
          p.q.head = limit;
        }).empty());
}

TEST_CASE("a bias lies within 2^60 elements, and has fewer") {
  const auto of_shape = [](std::int64_t n_k, std::int64_t row_stride) {
    return refusal([=](P& p) {
      p = dense_problem(1, 1, 1, 1 << 30, n_k, 1, 1);
      set_contiguous_bias(p, {1, 1, 1 << 30, n_k});
      p.bias_strides[2] = row_stride;
    });
  };
  CHECK(of_shape(1 << 29, 0).empty());
  CHECK_SAYS(of_shape(1 << 30, 0), "2^60 elements or more", "broadcast");
  CHECK_SAYS(of_shape(1 << 29, (1 << 30) + 1), "strides of bias", "2^60");
}

TEST_CASE("bias shapes broadcast as in numpy, or are refused") {
  CHECK(refusal([](P& p) { set_contiguous_bias(p, {1, 4, 10, 12}); }).empty());
  CHECK_SAYS(refusal([](P& p) {
               set_contiguous_bias(p, {1, 2, 10, 12});
             }),
             "bias has 2", "head axis", "1 or 4");
  CHECK_SAYS(refusal([](P& p) {
               set_contiguous_bias(p, {1, 1, 1, 11});
             }),
             "bias has 11", "key axis", "1 or 12");
  CHECK_SAYS(refusal([](P& p) {
               set_contiguous_bias(p, {3, 1, 1, 1});
             }),
             "bias has 3", "batch axis", "1 or 2");
}

TEST_CASE("packed offsets are checked") {
  CHECK(refusal(packed, {0, 4, 10}, {0, 0, 9}).empty());
  CHECK_SAYS(refusal([](P&) {}, {0, 10}, {0, 12}), "packed is 0", "set packed");
  CHECK_SAYS(refusal([](P&) {}, {0, 10}), "packed is 0", "set packed");
  CHECK_SAYS(refusal([](P&) {}, {}, {0, 12}), "packed is 0", "set packed");
  CHECK_SAYS(refusal([](P& p) { p.members = 3; }), "members is 3", "batch 2");
  CHECK_SAYS(refusal([](P& p) { p.packed = 1; }), "batch is 2", "one batch entry");
  CHECK_SAYS(refusal(packed, {0, 4}, {0, 0, 9}), "cu_seqlens_q has 2 entries", "need 3");
  CHECK_SAYS(refusal(packed, {1, 4, 10}, {0, 0, 9}), "cu_seqlens_q starts at 1", "must be 0");
  CHECK_SAYS(refusal(packed, {0, 4, 10}, {0, 9, 3}), "cu_seqlens_k decreases from 9 to 3",
             "ascending");
  CHECK_SAYS(refusal(packed, {0, 4, 10}, {0, -1, 9}), "cu_seqlens_k decreases from 0 to -1");
  CHECK_SAYS(refusal([](P& p) {
               packed(p);
               p.members = -1;
             }),
             "members is -1", "at least 0");
  CHECK_SAYS(refusal(packed, {0, 4, 11}, {0, 0, 9}), "cu_seqlens_q ends at 11", "10 tokens");
}

TEST_CASE(
    "tensors without strides have no elements where there are none; slack is what is packed") {
  P p = dense_problem(2, 4, 2, 10, 12, 8, 6);
  for (std::int64_t& axis : p.bias_shape) axis = 7;  // read by nobody without has_bias
  const AttentionProblem plain(p);
  CHECK(plain.bias_size() == 0);
  CHECK(plain.alibi_size() == 0);
  CHECK(plain.first_slack_q() == 10);
  CHECK(plain.first_slack_k() == 12);
  set_contiguous_bias(p, {2, 1, 10, 12});
  p.alibi = FLASHBOOK_ALIBI_H;
  CHECK(AttentionProblem(p).bias_size() == 240);
  CHECK(AttentionProblem(p).alibi_size() == 4);
  p.alibi = FLASHBOOK_ALIBI_BH;
  CHECK(AttentionProblem(p).alibi_size() == 8);
  CHECK(flashbook::name(Alignment::top_left) == "top-left");
  CHECK(flashbook::name(Alignment::bottom_right) == "bottom-right");
}

TEST_CASE("a problem in words, with every field") {
  const ProblemSpec spec = parse_problem(
      "b=2 hq=4 hkv=2 nq=65 nk=127 d=64 dv=32 dtype=bf16 causal align=top-left window=3,inf "
      "softcap=20 scale=0.1 bias=1,h,q,k alibi=h sinks dlse layout=bhnd data=sharp do=ones "
      "biasdata=hidden plant=nan-v strides_q=0,64,0");
  const auto& p = spec.problem.fields();
  CHECK(p.batch == 2);
  CHECK(p.heads_q == 4);
  CHECK(p.heads_kv == 2);
  CHECK(p.n_q == 65);
  CHECK(p.n_k == 127);
  CHECK(p.d == 64);
  CHECK(p.d_v == 32);
  CHECK(spec.problem.dtype() == DType::bf16);
  CHECK(p.causal == 1);
  CHECK(spec.problem.alignment() == Alignment::top_left);
  CHECK(p.window_left == 3);
  CHECK(p.window_right == unbounded);
  CHECK(p.softcap == 20);
  CHECK(p.scale == 0.1);
  CHECK(p.bias_shape[0] == 1);
  CHECK(p.bias_shape[3] == 127);
  CHECK(p.bias_strides[1] == 65 * 127);
  CHECK(p.alibi == FLASHBOOK_ALIBI_H);
  CHECK(p.has_sinks == 1);
  CHECK(p.has_dlse == 1);
  CHECK(p.k.head == 127 * 64);
  CHECK(p.q.token == 64);
  CHECK(p.q.batch == 0);
  CHECK(spec.recipe ==
        Recipe{Values::sharp, CotangentValues::ones, BiasValues::hidden, Planted::nan_v});

  const ProblemSpec members = parse_problem("nq=9 nk=5 cu_q=0,3,5 cu_k=0,4,4");
  CHECK(members.problem->packed == 1);
  CHECK(members.problem->members == 2);
  CHECK(members.problem.member(1).n_k == 0);
}

TEST_CASE("only what differs from the defaults is written") {
  CHECK(format_problem(parse_problem("")) == "");
  CHECK(format_problem(parse_problem(
            "b=1 hq=3 hkv=3 nq=64 nk=64 d=64 dv=64 dtype=fp32 data=normal")) == "hq=3");
  CHECK(format_problem(parse_problem("causal nq=7 dtype=bf16")) == "nq=7 dtype=bf16 causal");
}

TEST_CASE("what is written is read back the same, for every case") {
  for (const Case& known : all_cases()) {
    const std::string text = format_problem(known.spec);
    CAPTURE(text);
    const ProblemSpec again = parse_problem(text);
    CHECK(format_problem(again) == text);
    CHECK(again.recipe == known.spec.recipe);
    const auto &a = again.problem.fields(), &b = known.spec.problem.fields();
    CHECK(a.scale == b.scale);
    CHECK(a.n_k == b.n_k);
    CHECK(a.grad_v.token == b.grad_v.token);
    CHECK(a.window_left == b.window_left);
    CHECK(a.bias_strides[2] == b.bias_strides[2]);
    CHECK(again.problem.cu_seqlens_k() == known.spec.problem.cu_seqlens_k());
  }
}

TEST_CASE("words that make no problem are named") {
  CHECK_SAYS(parse_error("color=red"), "color", "known are b, hq");
  CHECK_SAYS(parse_error("nq=ten"), "nq is 'ten'", "whole numbers");
  CHECK_SAYS(parse_error("nq=1x"), "nq is '1x'", "whole numbers");
  CHECK_SAYS(parse_error("nq=-3"), "nq is '-3'", "0 to 16777216");
  CHECK_SAYS(parse_error("d=4097"), "d is '4097'", "0 to 4096");
  CHECK_SAYS(parse_error("b=2 hq=4096 nq=16777216 d=4096"),
             "b·nq·hq·d is more than 281474976710656");
  CHECK_SAYS(parse_error("strides_q=1,-2147483649,1"), "strides_q is '1,-2147483649,1'",
             "up to 2147483648");
  CHECK_SAYS(parse_error("window=1,2000000000"), "window is '2000000000'", "1073741824");
  CHECK_SAYS(parse_error("nq=3 nq=4"), "nq is given twice");
  CHECK_SAYS(parse_error("nq"), "nq has no value");
  CHECK_SAYS(parse_error("causal=1"), "causal is '1'", "a word of its own");
  CHECK_SAYS(parse_error("dtype=fp8"), "dtype is 'fp8'", "fp16, bf16, fp32, fp64");
  CHECK_SAYS(parse_error("align=left"), "align is 'left'", "bottom-right, top-left");
  CHECK_SAYS(parse_error("window=3"), "window is '3'", "LEFT,RIGHT");
  CHECK_SAYS(parse_error("scale=nan"), "scale is 'nan'", "finite");
  CHECK_SAYS(parse_error("bias=1,q,h,k"), "bias is '1,q,h,k'", "b,h,q,k");
  CHECK_SAYS(parse_error("strides_q=1,2"), "strides_q is '1,2'", "3 strides");
  CHECK_SAYS(parse_error("data=odd"), "data is 'odd'", "normal, five-normal");
  CHECK_SAYS(parse_error("hq=3 hkv=2"), "H_q is 3", "multiple");
  CHECK_SAYS(parse_error("cu_q=0,3,2 cu_k=0,1,2 nq=3"), "cu_seqlens_q decreases");
}

TEST_CASE(
    "a padding mask leaves each entry a third of the keys fewer; the lowest number hides none") {
  const auto bias_of = [](const char* recipe) {
    const ProblemSpec spec = parse_problem(std::string("b=3 nq=2 nk=7 d=4 bias=b,1,1,k ") + recipe);
    const Data data(spec, 1);
    const auto* bias = static_cast<const float*>(data.inputs().bias);
    return std::vector<float>(bias, bias + 3 * 7);
  };
  const std::vector<float> padded = bias_of("biasdata=padded"), lowest = bias_of("biasdata=lowest");
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t j = 0; j < 7; ++j) {
      const std::size_t keys[] = {4, 1, 0};
      CHECK(padded[7 * b + j] == (j < keys[b] ? 0 : -std::numeric_limits<float>::infinity()));
      CHECK(lowest[7 * b + j] == (j < 3 ? std::numeric_limits<float>::lowest() : 0));
    }
}

TEST_CASE("types are called what they are named, and their LSE is fp64 in fp64 alone") {
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32, DType::fp64}) {
    CHECK(dtype_called(flashbook::name(dtype)) == dtype);
    CHECK(lse_bytes_of(dtype) == (dtype == DType::fp64 ? 8 : 4));
  }
  CHECK(flashbook::name(DType::bf16) == "bf16");
  CHECK_FALSE(dtype_called("int8"));
}
