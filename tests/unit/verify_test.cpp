// `flashbook verify` as a user meets it: exit statuses, one sentence for bad input, JSON.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"
#include "tests/unit/smoke_cases.hpp"
#include "walkthrough/report_json.hpp"

namespace {

using flashbook::test::Run;
using flashbook::test::Scratch;

}  // namespace

TEST_CASE("verify: one problem, one implementation") {
  const Run run = Scratch().flashbook(
      "verify --impl standard --problem 'nq=9 nk=12 d=8 dtype=bf16 causal' --seed 3");
  CHECK(run.status == 0);
  CHECK(run.out.find("standard bf16") != std::string::npos);
  CHECK(run.err.empty());  // progress is for terminals
}

TEST_CASE("verify: blocks and splits of one's own; what has no backward pass is judged forward") {
  const Run run = Scratch().flashbook(
      "verify --impl 'io.split_kv[7x5/2]' --problem 'nq=9 nk=12 d=8 causal' --json");
  REQUIRE(run.status == 0);
  const auto report = nlohmann::json::parse(run.out)[0];
  CHECK(report["implementation"] == "io.split_kv[7x5/2]");
  CHECK(report["status"] == "passed");
  CHECK(report["outputs"].size() == 2);  // O, LSE
  CHECK(report["reasons"][0].get<std::string>().find("no backward pass") != std::string::npos);
}

TEST_CASE("verify: cases by name, as JSON") {
  const Run run = Scratch().flashbook("verify --impl oracle --case 'option/sinks/*' --json");
  CHECK(run.status == 0);
  const auto reports = nlohmann::json::parse(run.out);
  REQUIRE(reports.size() == 4);  // dtypes
  CHECK(reports[0]["case"] == "option/sinks/fp16");
  CHECK(reports[0]["status"] == "passed");
  CHECK(reports[0]["outputs"].size() == 6);
  CHECK(reports[0]["outputs"][0]["gate1"] <= 1);
}

TEST_CASE("verify: margins, as the tables of docs/margins.md") {
  const Run run =
      Scratch().flashbook("verify --impl io.split_kv --case 'data/normal/*16' --margins");
  CHECK(run.status == 0);
  for (const char* line : {"## Gate 1\n\n| implementation | dtype | O | LSE |", "\n## Gate 2\n",
                           "\n| io.split_kv | fp16 | 0.", "\n| io.split_kv | bf16 | 0."})
    CHECK_MESSAGE(run.out.find(line) != std::string::npos, line);
  CHECK(run.out.find("fp32") == std::string::npos);  // no such case was chosen
}

TEST_CASE("the JSON of a failing report tells NaN and Inf from a gate that does not apply") {
  using namespace flashbook::conformance;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CaseReport report;
  report.implementation = "mine";
  report.fail("O fails gate 1");
  OutputReport output = {Output::O, {}, {}};
  output.margins.gate1 = inf;
  output.margins.gate3 = nan;
  output.margins.worst = {{0, 1, 2, 3}, -inf, 0.5, 0.25};
  report.outputs.push_back(output);
  const auto parsed = nlohmann::json::parse(flashbook::as_json(report).dump());
  CHECK(parsed["status"] == "failed");
  CHECK(parsed["reasons"][0] == "O fails gate 1");
  const auto& judged = parsed["outputs"][0];
  CHECK(judged["gate1"] == "inf");
  CHECK(judged["gate2"].is_null());
  CHECK(judged["gate3"] == "nan");
  CHECK(judged["passed"] == false);
  CHECK(judged["worst"]["got"] == "-inf");
  CHECK(judged["worst"]["expected"] == 0.5);
  CHECK(judged["ratio_to_standard"].is_null());
  CHECK(nlohmann::json(flashbook::as_json(flashbook::case_report(parsed))) == parsed);
}

TEST_CASE("verify: a problem too large for memory, or for arithmetic, is one sentence, status 2") {
  const Scratch scratch;
  const auto complains = [&](const std::string& problem, const std::string& part) {
    flashbook::test::check_refused(scratch, "verify --problem '" + problem + "'", {part});
  };
#ifndef FLASHBOOK_SANITIZED  // whose allocator aborts instead
  complains("nq=8000000 d=1", "not enough memory");
#endif
  complains("hq=5000", "hq is '5000': it takes 0 to 4096");
  complains("b=1000000 hq=4096 nq=16777216", "b·nq·hq·d is more than 281474976710656");
  complains("strides_q=1,9000000000000000000,1", "strides up to 2147483648");
  complains("window=9000000000000000000,1", "window is '9000000000000000000'");
}

TEST_CASE("verify: bad input is one sentence, status 2") {
  const Scratch scratch;
  const auto complains = [&](const std::string& arguments, const std::string& part) {
    flashbook::test::check_refused(scratch, "verify " + arguments, {part});
  };
  complains("--impl nobody", "pass one of oracle");
  for (const char* name : {"io.fa2[7x5/2]", "io.fa2[7x0]", "io.fa2[7x5", "io.fa2[7x5]x",
                           "io.split_kv[7x5/0]", "io.split_kv[7x5/]"})
    complains("--impl '" + std::string(name) + "'", "there is no such implementation");
  complains("--case 'x*'", "there are alibi/*");
  complains("--problem 'nq=many'", "nq is 'many'");
  complains("--problem 'nq=3' --case 'size/*'", "excludes");
  complains("--json --margins", "excludes");
  complains("--seed many", "seed");
}
