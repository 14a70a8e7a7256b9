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

}  // namespace

TEST_CASE("a refusal names the field, its value and the remedy") {
  CHECK(refusal([](P&) {}).empty());
  CHECK_SAYS(refusal([](P& p) { p.size = 8; }), "problem.size is 8", "recompile");
  CHECK_SAYS(refusal([](P& p) { p.version = 9; }), "problem.version 9", "recompile");
  CHECK_SAYS(refusal([](P& p) { p.batch = -1; }), "batch (B) is -1", "at least 0");
  CHECK_SAYS(refusal([](P& p) { p.n_q = -5; }), "n_q (N_q) is -5", "at least 0");
  CHECK_SAYS(refusal([](P& p) { p.n_k = std::int64_t{1} << 60; }), "n_k (N_k)", "below 2^60");
  CHECK_SAYS(refusal([](P& p) { p.heads_kv = 0; }), "heads_kv (H_kv) is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.d = 0; }), "d is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.d_v = 0; }), "d_v is 0", "at least 1");
  CHECK_SAYS(refusal([](P& p) { p.heads_q = 5; }), "H_q is 5", "H_kv is 2", "multiple");
  CHECK_SAYS(refusal([](P& p) { p.dtype = 4; }), "dtype is 4", "fp16, bf16, fp32, fp64");
  CHECK_SAYS(refusal([](P& p) { p.alignment = 2; }), "alignment is 2", "bottom-right or top-left");
  CHECK_SAYS(refusal([](P& p) { p.alibi = 3; }), "alibi is 3", "[B, H_q]");
  CHECK_SAYS(refusal([](P& p) { p.causal = 2; }), "causal is 2", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.has_sinks = -1; }), "has_sinks is -1", "1 (on) or 0 (off)");
  CHECK_SAYS(refusal([](P& p) { p.scale = 1.0 / 0.0; }), "scale is inf", "finite");
  CHECK_SAYS(refusal([](P& p) { p.softcap = -1; }), "softcap is -1",
             "above 0 in fp32, or 0 for no cap");
  CHECK_SAYS(refusal([](P& p) { p.window_left = -(std::int64_t{1} << 60); }), "window_left",
             "unbounded");
}

TEST_CASE("strides: overlapping outputs are refused, size-1 and input strides are free") {
  CHECK_SAYS(refusal([](P& p) { p.o.token = 5; }), "output o", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_q.batch = 0; }), "output grad_q", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_k.head = 7; }), "output grad_k", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.grad_v.head = 5; }), "output grad_v", "overlap");
  CHECK_SAYS(refusal([](P& p) { p.q.batch = std::int64_t{1} << 60; }), "strides of q", "2^60");
  CHECK(refusal([](P& p) { p.q = p.k = p.v = p.grad_o = {0, 0, 0}; }).empty());
  CHECK(refusal([](P& p) {
          p.batch = p.members = 1;
          p.o.batch = 0;
        }).empty());
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
}

TEST_CASE("packed offsets are checked") {
  CHECK(refusal(packed, {0, 4, 10}, {0, 0, 9}).empty());
  CHECK_SAYS(refusal([](P&) {}, {0, 10}, {0, 12}), "packed is 0", "set packed");
  CHECK_SAYS(refusal([](P& p) { p.members = 3; }), "members is 3", "batch 2");
  CHECK_SAYS(refusal([](P& p) { p.packed = 1; }), "batch is 2", "one batch entry");
  CHECK_SAYS(refusal(packed, {0, 4}, {0, 0, 9}), "cu_seqlens_q has 2 entries", "need 3");
  CHECK_SAYS(refusal(packed, {1, 4, 10}, {0, 0, 9}), "cu_seqlens_q starts at 1", "must be 0");
  CHECK_SAYS(refusal(packed, {0, 4, 10}, {0, 9, 3}), "cu_seqlens_k decreases from 9 to 3",
             "ascending");
  CHECK_SAYS(refusal(packed, {0, 4, 11}, {0, 0, 9}), "cu_seqlens_q ends at 11", "10 tokens");
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
