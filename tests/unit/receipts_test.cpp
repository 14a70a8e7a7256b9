// When a receipt is about the code as it is, and what may be written into one.
#include "walkthrough/receipts/receipts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "cpu_reference/error.hpp"
#include "tests/unit/command_line.hpp"
#include "walkthrough/receipts/parts.hpp"

namespace flashbook::receipts {
namespace {

using test::Scratch;
using namespace conformance;

const std::string kernel = "forward/one_pass";
const Gpu h200 = {"", "NVIDIA H200", "580.159.04", 90};

KernelBuilds builds() {
  return {
      "13.0.88",
      {{kernel, "sm_80", "aaaa"}, {kernel, "sm_90a", "bbbb"}, {"forward/fa1", "sm_90a", "cccc"}},
      {{kernel, "_Z1kv", "sm_90a", 96, 1024, 8, 12}}};
}

/// The receipt that these builds get.
Json receipt_of(const KernelBuilds& made_by) {
  const Scratch scratch;
  for (const char* part : {"verify", "bench"})
    write_part(scratch.path(""), kernel, part, {{"rows", Json::array()}}, made_by, h200);
  return read_receipt(scratch.path(""), kernel);
}

State state_of(const Json& receipt, const KernelBuilds& now) {
  return standing_of(kernel, receipt, now).state;
}

TEST_CASE("a receipt holds the machine, the code and its resources") {
  const Json receipt = receipt_of(builds());
  CHECK(receipt["kernel"] == kernel);
  CHECK(receipt["verify"]["device"] == "NVIDIA H200");
  CHECK(receipt["bench"]["driver"] == "580.159.04");
  CHECK(receipt["bench"]["toolkit"] == "13.0.88");
  CHECK(receipt["bench"]["ptx"] == Json{{"sm_80", "aaaa"}, {"sm_90a", "bbbb"}});
  REQUIRE(receipt["resources"].size() == 1);
  CHECK(receipt["resources"][0]["entry"] == "k()");
  CHECK(receipt["resources"][0]["registers"] == 96);
  CHECK(receipt["resources"][0]["spill_load_bytes"] == 12);
}

TEST_CASE("current, until the code of one architecture differs") {
  const Json receipt = receipt_of(builds());
  CHECK(state_of(receipt, builds()) == State::current);
  KernelBuilds changed = builds();
  changed.fingerprints[1].sha256 = "bbbc";
  CHECK(state_of(receipt, changed) == State::stale);
  CHECK(standing_of(kernel, receipt, changed).why.find("sm_90a") != std::string::npos);
  KernelBuilds other = builds();
  other.fingerprints[2].sha256 = "dddd";  // another kernel's
  CHECK(state_of(receipt, other) == State::current);
}

TEST_CASE("a part that was not refreshed stays stale") {
  const Scratch scratch;
  KernelBuilds before = builds();
  before.fingerprints[0].sha256 = "old";
  write_part(scratch.path(""), kernel, "bench", Json::object(), before, h200);
  write_part(scratch.path(""), kernel, "verify", Json::object(), builds(), h200);
  const Standing standing = standing_of(kernel, read_receipt(scratch.path(""), kernel), builds());
  CHECK(standing.state == State::stale);
  CHECK(standing.why.find("bench") == 0);
}

TEST_CASE("missing: no receipt, or not both parts") {
  CHECK(state_of(nullptr, builds()) == State::missing);
  Json half = receipt_of(builds());
  half.erase("bench");
  CHECK(state_of(half, builds()) == State::missing);
  CHECK(state_of(half, {}) == State::missing);  // also where nothing can be compared
}

TEST_CASE("another toolkit or other architectures are not comparable; without nvcc nothing is") {
  const Json receipt = receipt_of(builds());
  KernelBuilds newer = builds();
  newer.toolkit = "13.1.2";
  newer.fingerprints[1].sha256 = "changed";
  CHECK(state_of(receipt, newer) == State::not_comparable);
  KernelBuilds blackwell = builds();
  for (Fingerprint& each : blackwell.fingerprints) each.target = "sm_100a";
  CHECK(state_of(receipt, blackwell) == State::not_comparable);
  KernelBuilds hopper = builds();
  hopper.fingerprints.erase(hopper.fingerprints.begin());
  CHECK(state_of(receipt, hopper) == State::current);
  CHECK(state_of(receipt, {}) == State::not_compared);
}

TEST_CASE("what is no receipt is said") {
  const Scratch scratch;
  CHECK(read_receipt(scratch.path(""), kernel).is_null());
  std::filesystem::create_directories(scratch.path("forward"));
  const std::string named = R"({"kernel": "forward/one_pass", "verify": )";
  for (const std::string& text :
       {std::string("[1]"), std::string("{"), std::string("{}"),
        std::string(R"({"kernel": "forward/fa1"})"), named + "5}", named + "{}}",
        named + R"({"toolkit": 13, "ptx": {}}})", named + R"({"toolkit": "13", "ptx": 5}})",
        named + R"({"toolkit": "13", "ptx": {"sm_80": 5}}})"}) {
    CAPTURE(text);
    scratch.save_text("forward/one_pass.json", text);
    CHECK_THROWS_AS(read_receipt(scratch.path(""), kernel), InputError);
  }
}

TEST_CASE("pending: a kernel and a reason") {
  const Scratch scratch;
  scratch.save_text("pending.txt", "# why\n\nforward/fa1: no GPU yet\n");
  const auto pending = read_pending(scratch.path("pending.txt"));
  REQUIRE(pending.size() == 1);
  CHECK(pending.at("forward/fa1") == "no GPU yet");
  for (const char* bad : {"forward/fa1\n", "forward/fa1: \n", "forward/fa9: no GPU yet\n",
                          "forward/fa1: no GPU yet\nforward/fa1: nor now\n"}) {
    scratch.save_text("pending.txt", bad);
    CHECK_THROWS_AS(read_pending(scratch.path("pending.txt")), InputError);
  }
  CHECK(read_pending(scratch.path("none")).empty());
}

CaseReport report(const char* impl, Status status, Output output, double gate1) {
  CaseReport made;
  made.implementation = impl;
  made.dtype = DType::bf16;
  made.status = status;
  OutputReport judged = {output, {}, {}};
  judged.margins.gate1 = gate1;
  judged.margins.gate2 = 0.5;
  made.outputs.push_back(judged);
  return made;
}

TEST_CASE("verify's part: the largest of its own outputs over all its pairs, and no failure") {
  const auto pairs = emulated_pairs();  // of the same names as the GPU's
  std::vector<CaseReport> reports = {
      report("cuda.one_pass@gpu", Status::passed, Output::O, 0.25),
      report("cuda.one_pass@gpu", Status::passed, Output::O, 0.75),
      report("cuda.one_pass@gpu", Status::passed, Output::dQ, 0.125),
      report("cuda.fa1@gpu", Status::passed, Output::dQ, 0.5),
      report("cuda.one_pass@cpu", Status::passed, Output::O, 0.9),
  };
  const auto forward = verify_part("forward/one_pass", pairs, reports);
  REQUIRE(forward);
  CHECK((*forward)["cases"]["passed"] == 3);
  CHECK((*forward)["margins"]["bf16"]["O"] == Json{0.75, 0.5, nullptr});
  CHECK_FALSE((*forward)["margins"]["bf16"].contains("dQ"));
  const auto backward = verify_part("backward/three_kernel", pairs, reports);
  REQUIRE(backward);
  CHECK((*backward)["margins"]["bf16"]["dQ"] == Json{0.5, 0.5, nullptr});
  CHECK_FALSE(verify_part("forward/standard", pairs, reports));  // nothing was run
  reports.push_back(report("cuda.one_pass@gpu", Status::failed, Output::O, std::nan("")));
  CHECK_FALSE(verify_part("forward/one_pass", pairs, reports));
}

TEST_CASE("bench's part: a GPU's times, and no wrong result") {
  const bench::Row good = {"cuda.one_pass@gpu",
                           Pass::forward,
                           DType::bf16,
                           {1, 16, 512, 128, false},
                           1e-3,
                           0.01,
                           0.25,
                           770e12,
                           "",
                           false};
  bench::Row emulated = good, refused = good, wrong = good;
  emulated.impl = "cuda.one_pass@cpu";
  refused.seconds.reset();
  wrong.seconds.reset();
  wrong.failed = true;
  const auto part = bench_part(kernel, {good, emulated, refused});
  REQUIRE(part);
  REQUIRE((*part)["rows"].size() == 1);
  CHECK((*part)["rows"][0]["ms"] == 1);
  CHECK((*part)["rows"][0]["error_margin"] == 0.25);
  CHECK_FALSE(bench_part(kernel, {emulated}));
  CHECK_FALSE(bench_part(kernel, {refused}));
  CHECK_FALSE(bench_part(kernel, {good, wrong}));
  CHECK_FALSE(bench_part("backward/three_kernel", {good}));
}

TEST_CASE("this program knows the code of every kernel it has, if nvcc made it") {
  if (kernel_builds().toolkit.empty()) {
    CHECK(kernel_builds().fingerprints.empty());
    return;
  }
  for (const std::string& each : kernel_names()) {
    CAPTURE(each);
    bool found = false, used = false;
    for (const Fingerprint& print : kernel_builds().fingerprints)
      found |= print.kernel == each && print.sha256.size() == 64;
    for (const Resources& lines : kernel_builds().resources)
      used |= lines.kernel == each && lines.registers > 0;
    CHECK(found);
    CHECK(used);
  }
}

}  // namespace
}  // namespace flashbook::receipts
