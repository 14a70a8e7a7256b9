// `flashbook verify` as a user meets it: exit statuses, one sentence for bad input, JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

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

TEST_CASE("verify: bad input is one sentence, status 2") {
  const Scratch scratch;
  const auto complains = [&](const std::string& arguments, const std::string& part) {
    flashbook::test::check_refused(scratch, "verify " + arguments, {part});
  };
  complains("--impl nobody", "pass one of oracle");
  complains("--case 'x*'", "there are data/*");
  complains("--problem 'nq=many'", "nq is 'many'");
  complains("--problem 'nq=3' --case 'size/*'", "excludes");
  complains("--seed many", "seed");
}
