// `flashbook step`, as a user runs it: what is printed, for programs too, and what is refused.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

namespace flashbook {
namespace {

using test::check_refused;
using test::Run;
using test::Scratch;

nlohmann::json json_of(const Scratch& scratch, const std::string& arguments) {
  const Run run = scratch.flashbook(arguments + " --json");
  REQUIRE_MESSAGE(run.status == 0, run.err);
  return nlohmann::json::parse(run.out);
}

}  // namespace

TEST_CASE("step forward: one step of the four tokens, as it is printed") {
  const Run run = Scratch().flashbook("step forward --from 2 --to 2");
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(run.out == R"(fa2_forward: FlashAttention-2 (FA2 Alg. 1)
N = 4, d = 2, fp32, tiles of S 2 × 2; four tokens, scale 1

step 2 of 6, tile 0,1: queries 0–1, keys 2–3

  S = scale · Q Kᵀ   m_old   m = max(m_old, rowmax S)   α = exp(m_old − m)
  10.000  2.000      5.000   10.000                     0.007
   2.000  1.000      1.000    2.000                     0.368

  P = exp(S − m)   ℓ = α ℓ + rowsum P   O = diag(α) O + P V
  1.000 0.000      1.008                2.001 2.008
  1.000 0.368      1.871                2.000 3.239

  tiles of S                HBM ⇄ SRAM             this step              so far
      j 0 1                                   read   written      read   written
  i   0 ■ ◆                 Q                                        4
      1 □ □                 K                    4                   8
                            V                    4                   8
  ■ done  ◆ now             elements             8                  20
  □ to come                 bytes               32                  80

  SRAM holds Q 2×2, O 2×2, m 2, l 2, K 2×2, V 2×2, S 2×2: 96 B (peak 96 B)
)");
}

TEST_CASE("step: piped, every step is printed, without ink") {
  const Run run = Scratch().flashbook("step backward --causal");
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find('\x1b') == std::string::npos);
  for (const char* part :
       {"step 1 of 12, ", "step 12 of 12, ", "P = exp(S − LSE)", "dP = dO Vᵀ", "Δ = rowsum(dO ∘ O)",
        "dS = P ∘ (dP − Δ)", "dV += Pᵀ dO", "dK += dSᵀ Q", "dQ += dS K", "· skipped: 1"}) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
  CHECK(Scratch().flashbook("step backward --causal --all").out == run.out);
}

TEST_CASE("step: the sums after the last step are what sim traffic counts") {
  const Scratch scratch;
  for (const std::string name :
       {"fa2_forward", "fa1_forward", "split_kv_decode", "standard_forward",
        "three_kernel_backward", "fused_backward", "fa1_backward"}) {
    CAPTURE(name);
    const bool blocks = name != "standard_forward";
    const std::string what = " --algorithm " + name + " --n 9 --d 4 --heads 2 --causal" +
                             (blocks ? " --br 2 --bc 4" : "");
    const bool backward = name.find("backward") != std::string::npos;
    const auto stepped =
        json_of(scratch, std::string("step ") + (backward ? "backward" : "forward") + what);
    const auto counted = json_of(scratch, "sim traffic" + what);
    CHECK(counted["source"] == "executed");
    const auto& last = stepped["steps"].back()["so_far"];
    CHECK(last["bytes"]["read"] == counted["bytes_read"]);
    CHECK(last["bytes"]["written"] == counted["bytes_written"]);
    CHECK(stepped["peak_sram_bytes"] == counted["peak_sram_bytes"]);
    for (const auto& item : counted["tensors"].items()) {
      const std::string tensor = item.key();
      const auto& counts = item.value();
      CAPTURE(tensor);
      const long long atomic = counts["atomic_updates"], reads = counts["reads"],
                      writes = counts["writes"];
      CHECK(last["tensors"][tensor]["read"] == 2 * (reads + atomic));
      CHECK(last["tensors"][tensor]["written"] == 2 * (writes + atomic));
    }
  }
}

TEST_CASE("step --input: the reader's tensors, one file, three or four, matrices too") {
  const Scratch scratch;
  scratch.save("x.npy", {5, 3}, NpyType::fp64);
  scratch.save("q.npy", {1, 4, 2, 3});
  scratch.save("k.npy", {1, 6, 1, 3});
  scratch.save("v.npy", {1, 6, 1, 2});
  scratch.save("do.npy", {1, 4, 2, 2});
  const auto one = json_of(scratch, "step forward --input x.npy");
  CHECK(one["n_q"] == 5);
  CHECK(one["d"] == 3);
  CHECK(one["dtype"] == "fp32");
  CHECK(one["input"] == "x.npy");
  const auto three = json_of(scratch, "step forward --input q.npy k.npy v.npy --causal");
  CHECK(three["n_q"] == 4);
  CHECK(three["n_k"] == 6);
  CHECK(three["heads_q"] == 2);
  CHECK(three["d_v"] == 2);
  CHECK(three["causal"] == true);
  CHECK(three["br"] == 2);
  const auto four =
      json_of(scratch, "step backward --input q.npy k.npy v.npy do.npy --br 4 --bc 3");
  CHECK(four["visited_tiles"] == 8);
  CHECK(four["input"] == "q.npy …");
  CHECK(json_of(scratch, "step backward --input x.npy")["input"] == "x.npy, a random dO");
  scratch.save("long.npy", {300, 2});  // in tiles of 2 × 2, there would be 22,500 of them
  CHECK(json_of(scratch, "step forward --from 1 --to 1 --input long.npy")["br"] == 4);
  CHECK(json_of(scratch, "step forward --input x.npy --dtype bf16")["dtype"] == "bf16");
}

TEST_CASE("step on a terminal: by key, in colour unless NO_COLOR says not; --all prints") {
  const Scratch scratch;
  const Run run = scratch.on_terminal("step forward", "q quit", "nnbj5\rq");
  CHECK(run.status == 0);
  std::string steps;
  for (std::size_t at = run.out.find(" of 6,"); at != std::string::npos;
       at = run.out.find(" of 6,", at + 1))
    steps += run.out[at - 1];
  CHECK(steps == "12325");
  CHECK(run.out.find("jump to: 5") != std::string::npos);
  CHECK(run.out.find("\x1b[35m") != std::string::npos);

  ::setenv("NO_COLOR", "1", 1);
  const Run plain = scratch.on_terminal("step forward", "q quit", "q");
  ::unsetenv("NO_COLOR");
  CHECK(plain.out.find("\x1b[35m") == std::string::npos);
  CHECK(plain.out.find("step 1 of 6") != std::string::npos);

  const Run all = scratch.on_terminal("step forward --all", "never", "");
  CHECK(all.status == 0);
  CHECK(all.out.find("step 6 of 6") != std::string::npos);
  CHECK(all.out.find("q quit") == std::string::npos);
}

TEST_CASE("step --svg: a picture of one step, beside its text") {
  const Scratch scratch;
  const Run run = scratch.flashbook("step forward --from 3 --svg step.svg");
  CHECK(run.status == 0);
  CHECK(scratch.listing() == std::vector<std::string>{"step.svg"});
  CHECK(run.out.find("step 3 of 6") != std::string::npos);
  CHECK(run.out.find("step 4 of 6") == std::string::npos);
}

TEST_CASE("step: bad input is refused in one sentence") {
  const Scratch t;
  check_refused(t, "step", {"subcommand is required", "--help"});
  check_refused(t, "step sideways", {"step' has no verb 'sideways'; see", "--help"});
  check_refused(t, "step forward --algorithm fa3", {"--algorithm", "fa3", "fa2_forward"});
  check_refused(t, "step forward --algorithm fa2_backward", {"fa2_backward", "step backward"});
  check_refused(t, "step backward --algorithm fa2_forward", {"fa2_forward", "step forward"});
  check_refused(t, "step forward --n 0", {"--n is 0"});
  check_refused(t, "step forward --br 2", {"--br and --bc"});
  check_refused(t, "step forward --br 0 --bc 2", {"--br is 0"});
  check_refused(t, "step forward --algorithm standard_forward --br 2 --bc 2", {"no blocks"});
  check_refused(t, "step forward --splits 2", {"--splits", "fa2_forward"});
  check_refused(t, "step forward --dtype fp64", {"--dtype is fp64"});
  check_refused(t, "step forward --from 0", {"--from is 0", "1 to 6"});
  check_refused(t, "step forward --to 7", {"--to is 7", "1 to 6"});
  check_refused(t, "step forward --from 3 --to 2", {"--to is 2", "--from 3"});
  check_refused(t, "step forward --n 100000 --d 64", {"--n", "tiles", "10000"});
  check_refused(t, "step forward --n 30000 --d 64 --br 4096 --bc 4096", {"numbers", "67108864"});
  check_refused(t, "step forward --algorithm standard_forward --n 30000", {"numbers"});
  check_refused(t, "step forward --svg nowhere/a.svg", {"--svg", "nowhere"});
  check_refused(t, "step forward --sram 10", {"--sram"});
  check_refused(t, "step forward --frobnicate", {"--frobnicate", "step forward --help"});
}

TEST_CASE("step --input: bad files are refused by name") {
  const Scratch t;
  t.save("x.npy", {5, 3});
  t.save("y.npy", {5, 4});
  t.save("i.npy", {5, 3}, NpyType::int32);
  t.save("cube.npy", {5, 3, 2});
  check_refused(t, "step forward --input nowhere.npy", {"--input", "nowhere.npy"});
  check_refused(t, "step forward --input x.npy x.npy", {"--input has 2 files"});
  check_refused(t, "step forward --input x.npy y.npy x.npy",
                {"--input: K has 4 channels but Q has 3"});
  check_refused(t, "step backward --input x.npy x.npy x.npy y.npy", {"--input: dO is"});
  check_refused(t, "step forward --input x.npy x.npy x.npy x.npy", {"4 files", "a forward pass"});
  check_refused(t, "step forward --input i.npy", {"--input", "int32"});
  check_refused(t, "step forward --input cube.npy", {"--input: Q is [5, 3, 2]", "[tokens, d]"});
  check_refused(t, "step forward --input x.npy --n 4", {"--input", "--n"});
  check_refused(t, "step forward --input x.npy --layout nhd", {"--layout"});
  check_refused(t, "step forward --layout bhnd", {"--layout", "--input"});
  check_refused(t, "step forward --causal=top-left", {"--causal is 'top-left'", "takes no value"});
}

}  // namespace flashbook
