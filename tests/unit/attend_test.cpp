#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "cpu_reference/element_types.hpp"
#include "tests/unit/command_line.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace flashbook {
namespace {

using test::check_refused;
using test::Run;
using test::Scratch;

template <class T>
std::vector<T> values(const NpyArray& array) {
  std::vector<T> v(static_cast<std::size_t>(array.size()));
  REQUIRE(array.bytes.size() == v.size() * sizeof(T));
  std::memcpy(v.data(), array.bytes.data(), array.bytes.size());
  return v;
}

/// q [2, 5, 4, 8], k [2, 7, 2, 8], v [2, 7, 2, 6] and everything that goes with them.
struct Tensors : Scratch {
  Tensors() {
    save("q.npy", {2, 5, 4, 8});
    save("k.npy", {2, 7, 2, 8});
    save("v.npy", {2, 7, 2, 6});
    save("do.npy", {2, 5, 4, 6});
    save("dlse.npy", {2, 4, 5});
    save("bias.npy", {4, 1, 7});
    save("slopes.npy", {4});
    save("sinks.npy", {4});
    save("packed_q.npy", {10, 4, 8});
    save("packed_k.npy", {12, 2, 8});
    save("packed_v.npy", {12, 2, 6});
    save("packed_do.npy", {10, 4, 6});
    save_offsets("cu_q.npy", {0, 3, 3, 9});
    save_offsets("cu_k.npy", {0, 4, 6, 10});
  }
};

const std::string qkv = "attend --q q.npy --k k.npy --v v.npy --out out ";
const std::string packed =
    "attend --q packed_q.npy --k packed_k.npy --v packed_v.npy --out out --cu-seqlens-q cu_q.npy ";

TEST_CASE("attend writes outputs of Q's rank and layout") {
  const Tensors t;
  const Run run = t.flashbook(
      qkv +
      "--do do.npy --dlse dlse.npy --bias bias.npy --alibi slopes.npy --sinks sinks.npy "
      "--causal top-left --window 3 inf --softcap 2 --impl oracle");
  CHECK_MESSAGE(run.status == 0, run.err);
  CHECK(run.out.find("N_k = 7,\n  d = 8, d_v = 6, scale 0.353553, causal") != std::string::npos);
  using Shape = std::vector<std::int64_t>;
  CHECK(read_npy(t.path("out/o.npy")).shape == Shape{2, 5, 4, 6});
  CHECK(read_npy(t.path("out/lse.npy")).shape == Shape{2, 4, 5});
  CHECK(read_npy(t.path("out/dq.npy")).shape == Shape{2, 5, 4, 8});
  CHECK(read_npy(t.path("out/dk.npy")).shape == Shape{2, 7, 2, 8});
  CHECK(read_npy(t.path("out/dv.npy")).shape == Shape{2, 7, 2, 6});
  CHECK(read_npy(t.path("out/dbias.npy")).shape == Shape{4, 1, 7});
  CHECK(read_npy(t.path("out/dsinks.npy")).shape == Shape{4});
}

TEST_CASE("packed tensors: 3-D and 4-D agree, slack and empty rows are 0 and −∞") {
  const Tensors t;
  CHECK(t.flashbook(packed + "--cu-seqlens-k cu_k.npy --do packed_do.npy --impl oracle").status ==
        0);
  const NpyArray o = read_npy(t.path("out/o.npy"));
  CHECK(o.shape == std::vector<std::int64_t>{10, 4, 6});
  const auto lse = values<float>(read_npy(t.path("out/lse.npy")));
  CHECK(lse.size() == 40);
  for (std::size_t head = 0; head < 4; ++head) {
    CHECK(std::isfinite(lse[head * 10 + 8]));
    CHECK(lse[head * 10 + 9] == -std::numeric_limits<float>::infinity());  // slack
  }
  for (std::size_t c = 9 * 24; c < 240; ++c) CHECK(values<float>(o)[c] == 0.0f);

  t.save("q4.npy", {1, 10, 4, 8});
  t.save("k4.npy", {1, 12, 2, 8});
  t.save("v4.npy", {1, 12, 2, 6});
  CHECK(t.flashbook("attend --q q4.npy --k k4.npy --v v4.npy --out out4 --impl oracle "
                    "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_k.npy")
            .status == 0);
  const NpyArray o4 = read_npy(t.path("out4/o.npy"));
  CHECK(o4.shape == std::vector<std::int64_t>{1, 10, 4, 6});
  CHECK(o4.bytes == o.bytes);
}

TEST_CASE("element types: bf16 travels as fp32, fp64 has an fp64 LSE, the default is that of --q") {
  const Tensors t;
  const auto types = [&](const std::string& flags) {
    const Run run = t.flashbook(qkv + flags);
    CHECK_MESSAGE(run.status == 0, run.err);
    const NpyArray o = read_npy(t.path("out/o.npy")), lse = read_npy(t.path("out/lse.npy"));
    return std::pair(o.type, lse.type);
  };
  CHECK(types("") == std::pair(NpyType::fp32, NpyType::fp32));
  CHECK(types("--dtype fp16") == std::pair(NpyType::fp16, NpyType::fp32));
  CHECK(types("--dtype fp64") == std::pair(NpyType::fp64, NpyType::fp64));
  CHECK(types("--dtype bf16") == std::pair(NpyType::fp32, NpyType::fp32));
  for (const float x : values<float>(read_npy(t.path("out/o.npy"))))
    CHECK(static_cast<float>(bfloat16(x)) == x);
  t.save("q.npy", {2, 5, 4, 8}, NpyType::fp16);
  CHECK(types("") == std::pair(NpyType::fp16, NpyType::fp32));
}

TEST_CASE("attend: one key gives O = V") {
  const Tensors t;
  t.save("k1.npy", {2, 1, 4, 8});
  t.save("v1.npy", {2, 1, 4, 6});
  CHECK(t.flashbook("attend --q q.npy --k k1.npy --v v1.npy --out out --scale 1e10").status == 0);
  const auto o = values<float>(read_npy(t.path("out/o.npy")));
  const auto v = values<float>(read_npy(t.path("v1.npy")));
  for (std::size_t i = 0; i < o.size(); ++i) CHECK(o[i] == v[i / 120 * 24 + i % 24]);
}

TEST_CASE("attend refuses bad tensors, naming the flag and the remedy") {
  const Tensors t;
  const std::string kv = " --k k.npy --v v.npy --out out";
  t.save("ints.npy", {2, 5, 4, 8}, NpyType::int32);
  t.save_text("text.npy", "these are not the bytes you are looking for, nor an array of any kind");
  t.save_text("empty.npy", "");
  t.save("q2.npy", {5, 8});
  t.save("q5.npy", {2, 5, 4, 9});
  t.save("q3heads.npy", {2, 5, 3, 8});
  t.save("q_no_channels.npy", {2, 5, 4, 0});
  t.save("k_short.npy", {2, 6, 2, 8});
  t.save("k3.npy", {7, 2, 8});
  t.save("bias_wide.npy", {4, 5, 8});
  t.save("sinks5.npy", {5});
  t.save("offsets_as_floats.npy", {4});
  check_refused(t, "attend --q nowhere.npy" + kv, {"--q", "nowhere.npy", "pass a readable .npy"});
  check_refused(t, "attend --q text.npy" + kv, {"--q", "text.npy", "numpy.save"});
  check_refused(t, "attend --q empty.npy" + kv, {"--q", "empty.npy"});
  check_refused(t, "attend --q ." + kv, {"--q", "folder"});
  check_refused(t, "attend --q ints.npy" + kv, {"--q", "int32", "a.astype"});
  check_refused(t, "attend --q q2.npy" + kv, {"--q", "[5, 8]"});
  check_refused(t, "attend --q q5.npy" + kv, {"--k has 8 channels", "--q has 9"});
  check_refused(t, "attend --q q3heads.npy" + kv, {"3 heads", "multiple"});
  check_refused(t, "attend --q q_no_channels.npy" + kv, {"--q has 0 channels", "at least 1"});
  check_refused(t, "attend --q q.npy --k k_short.npy --v v.npy --out out", {"--v has 7 tokens"});
  check_refused(t, "attend --q q.npy --k k3.npy --v v.npy --out out", {"--k [7, 2, 8]"});
  check_refused(t, qkv + "--layout bhnd", {"--layout"});
  check_refused(t, qkv + "--layout hdbn", {"--layout", "bnhd", "bhnd"});
  check_refused(t, qkv + "--dtype fp8", {"--dtype", "fp16, bf16, fp32 or fp64"});
  check_refused(t, qkv + "--do q.npy", {"--do", "[2, 5, 4, 6]"});
  check_refused(t, qkv + "--dlse dlse.npy", {"--dlse", "--do"});
  check_refused(t, qkv + "--do do.npy --dlse sinks.npy", {"--dlse", "[B, H_q, N_q]"});
  check_refused(t, qkv + "--bias bias_wide.npy", {"--bias", "[4, 5, 8]", "broadcast"});
  check_refused(t, qkv + "--alibi sinks5.npy", {"--alibi", "[H_q]"});
  check_refused(t, qkv + "--sinks sinks5.npy", {"--sinks", "[H_q]"});
}

/// The bytes of a saved tensor with `from` in its header replaced by `to`, of the same length.
std::string edited(const Scratch& scratch, const std::string& name, const std::string& from,
                   const std::string& to) {
  std::ifstream in(scratch.path(name), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  REQUIRE(from.size() == to.size());
  return bytes.replace(bytes.find(from), from.size(), to);
}

TEST_CASE("attend refuses files that numpy would not have written so") {
  const Tensors t;
  const std::string kv = " --k k.npy --v v.npy --out out";
  const std::string whole = edited(t, "q.npy", "False", "False");
  t.save_text("truncated.npy", whole.substr(0, whole.size() - 100));
  t.save_text("long.npy", whole + "more");
  t.save_text("fortran.npy", edited(t, "q.npy", "False", "True "));
  t.save_text("negative.npy", edited(t, "q.npy", "(2, 5, 4, 8)", "(2, 5,-4, 8)"));
  t.save_text("big_endian.npy", edited(t, "q.npy", "<f4", ">f4"));
  t.save_text("objects.npy", edited(t, "q.npy", "<f4", "|O8"));
  check_refused(t, "attend --q truncated.npy" + kv, {"--q: truncated.npy", "copy it again"});
  check_refused(t, "attend --q long.npy" + kv, {"--q: long.npy", "numpy.save"});
  check_refused(t, "attend --q fortran.npy" + kv, {"--q: fortran.npy", "ascontiguousarray"});
  check_refused(t, "attend --q negative.npy" + kv, {"--q: negative.npy", "-4"});
  check_refused(t, "attend --q big_endian.npy" + kv, {"--q: big_endian.npy", ">f4"});
  check_refused(t, "attend --q objects.npy" + kv, {"--q: objects.npy", "|O8"});
}

TEST_CASE("attend refuses bad packing") {
  const Tensors t;
  t.save_offsets("decreasing.npy", {0, 5, 3, 10});
  t.save_offsets("from_one.npy", {1, 3, 3, 9});
  t.save_offsets("too_far.npy", {0, 4, 6, 13});
  t.save_offsets("two.npy", {0, 4, 6});
  t.save_offsets("none.npy", {});
  t.save("floats.npy", {4});
  check_refused(t, packed, {"--cu-seqlens-k", "missing"});
  check_refused(t, packed + "--cu-seqlens-k decreasing.npy", {"--cu-seqlens-k", "decreases"});
  check_refused(t, packed + "--cu-seqlens-k from_one.npy", {"--cu-seqlens-k", "0"});
  check_refused(t, packed + "--cu-seqlens-k too_far.npy", {"--cu-seqlens-k", "12"});
  check_refused(t, packed + "--cu-seqlens-k two.npy", {"--cu-seqlens-k has 3", "4"});
  check_refused(t, packed + "--cu-seqlens-k none.npy", {"--cu-seqlens-k", "start with 0"});
  check_refused(t, packed + "--cu-seqlens-k floats.npy", {"--cu-seqlens-k", "int32 or int64"});
  check_refused(t, qkv + "--cu-seqlens-q cu_q.npy --cu-seqlens-k cu_k.npy", {"batch", "1"});
  check_refused(t, "attend --q packed_q.npy --k packed_k.npy --v packed_v.npy --out out",
                {"--q", "--cu-seqlens-q"});
}

TEST_CASE("attend refuses bad options") {
  const Tensors t;
  t.save_text("file", "");
  const std::string no_out = "attend --q q.npy --k k.npy --v v.npy ";
  check_refused(t, qkv + "--scale nan", {"--scale is nan", "finite"});
  check_refused(t, qkv + "--scale inf", {"--scale is inf", "finite"});
  check_refused(t, qkv + "--scale much", {"--scale", "much"});
  check_refused(t, qkv + "--softcap 0", {"--softcap", "above 0"});
  check_refused(t, qkv + "--softcap -5", {"--softcap", "above 0"});
  check_refused(t, qkv + "--softcap nan", {"--softcap", "finite"});
  check_refused(t, qkv + "--window 3", {"--window"});
  check_refused(t, qkv + "--window 3 many", {"--window", "many", "inf"});
  check_refused(t, qkv + "--window nan 0", {"--window", "nan"});
  check_refused(t, qkv + "--window 1.5 0", {"--window", "1.5", "whole number"});
  check_refused(t, qkv + "--window 99999999999999999999 0", {"--window", "2^60"});
  check_refused(t, qkv + "--window -9223372036854775808 inf", {"--window", "left", "2^60"});
  check_refused(t, qkv + "--scale 1e300", {"scale is 1e+300", "fp32"});
  check_refused(t, qkv + "--softcap 1e-46", {"softcap is 1e-46", "above 0 in fp32"});
  check_refused(t, qkv + "--causal ''", {"--causal", "empty"});
  check_refused(t, qkv + "--do=", {"--do=", "no value"});
  check_refused(t, qkv + "--causal yes", {"--causal", "bottom-right", "top-left"});
  check_refused(t, qkv + "--causal top-left --align bottom-right", {"--align", "one alignment"});
  check_refused(t, qkv + "--impl nobody", {"--impl", "nobody", "oracle"});
  check_refused(t, qkv + "--frobnicate", {"--frobnicate", "--help"});
  check_refused(t, no_out, {"--out", "required"});
  check_refused(t, no_out + "--out file", {"--out", "folder"});
  check_refused(t, no_out + "--out file/below", {"--out", "folder"});
  check_refused(t, no_out + "--out /proc/flashbook", {"--out", "/proc/flashbook", "write"});
}

TEST_CASE("a folder in a file's place, or a refusal after --out was made, leaves nothing behind") {
  const Tensors t;
  std::filesystem::create_directories(t.path("out/lse.npy"));
  check_refused(t, qkv, {"--out", "lse.npy"});
  check_refused(t, "attend --q q.npy --k k.npy --v v.npy --out new/deep --dtype fp64 --impl io.fa2",
                {"--impl io.fa2", "fp64"});
}

#ifndef FLASHBOOK_SANITIZED  // whose own memory is beyond any limit
TEST_CASE("without enough memory attend says so, and leaves nothing behind") {
  const Scratch scratch;
  scratch.save("long.npy", {1, 30000, 1, 1});
  const std::vector<std::string> before = scratch.listing();
  for (const char* implementation : {"oracle", "standard", "io.standard"}) {
    const Run run = scratch.shell("ulimit -v 1000000; exec '" FLASHBOOK_PROGRAM
                                  "' attend --q long.npy --k long.npy --v long.npy --out out "
                                  "--impl " +
                                  std::string(implementation));
    CAPTURE(run.err);
    CHECK(run.status == 2);
    CHECK(run.err.find("not enough memory") != std::string::npos);
    CHECK(scratch.listing() == before);
  }
}
#endif

TEST_CASE("output that cannot be written is an error") {
  CHECK(Scratch().shell("'" FLASHBOOK_PROGRAM "' list > /dev/full").status == 2);
}

TEST_CASE(
    "windows with negative sides, alignment without causal, and layouts give oracle's values") {
  const Tensors t;
  t.save("q_bhnd.npy", {2, 4, 5, 8});
  t.save("k_bhnd.npy", {2, 2, 7, 8});
  t.save("v_bhnd.npy", {2, 2, 7, 6});
  const std::string bhnd = "attend --q q_bhnd.npy --k k_bhnd.npy --v v_bhnd.npy --layout bhnd ";
  for (const std::string& flags :
       {std::string("attend --q q.npy --k k.npy --v v.npy --window 3 -1 "),
        std::string("attend --q q.npy --k k.npy --v v.npy --alibi slopes.npy --align top-left "),
        bhnd + "--causal bottom-right "}) {
    CAPTURE(flags);
    CHECK(t.flashbook(flags + "--out exact --impl oracle").status == 0);
    CHECK(t.flashbook(flags + "--out blocked --impl 'io.fa2[2x3]'").status == 0);
    for (const char* file : {"o.npy", "lse.npy"}) {
      const auto exact = values<float>(read_npy(t.path("exact") / file));
      const auto blocked = values<float>(read_npy(t.path("blocked") / file));
      REQUIRE(exact.size() == blocked.size());
      for (std::size_t i = 0; i < exact.size(); ++i)
        CHECK((exact[i] == blocked[i] || std::abs(exact[i] - blocked[i]) < 1e-6));
    }
  }
}

TEST_CASE("an unknown verb names itself; no verb shows the help") {
  const Scratch scratch;
  check_refused(scratch, "attned", {"attned", "--help"});
  const Run run = scratch.flashbook("");
  CHECK(run.status == 2);
  CHECK(run.err.find("attend") != std::string::npos);
}

}  // namespace
}  // namespace flashbook
