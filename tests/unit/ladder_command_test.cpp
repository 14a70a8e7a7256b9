// `ladder`: what it prints, counts and refuses. That its figures are those of their source is
// ladder_test's.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;
using nlohmann::json;

std::string printed(const std::string& arguments) {
  const Run run = Scratch().flashbook("ladder " + arguments);
  CHECK_MESSAGE(run.status == 0, run.err);
  return run.out;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ladder: ideas, predictions and gains, for either head dimension") {
  const std::string at_64 = printed(""), at_128 = printed("--d 128");
  CHECK(has(at_64, "d = 64, 64 heads, fp16"));
  CHECK(
      has(at_64, "tensor_core                                                               79\n"));
  CHECK(
      has(at_64, "q_in_registers          Q read once                      1.10  0.97      246\n"));
  CHECK(has(at_128, "d = 128, 32 heads, bf16"));
  CHECK(has(at_128,
            "q_in_registers          Q read once                      1.10  1.06      275\n"));
}

TEST_CASE("ladder: losses are parts of the time before") {
  const std::string out = printed("--losses");
  CHECK(has(out, "10–15 %  deferred_normalisation    44 %    41 %     62 %\n"));
  CHECK(has(out, "3–5 %  exp2                      17 %    16 %     -4 %\n"));
  CHECK(has(out, "casts"));
}

TEST_CASE("ladder: counts are those of running each rung") {
  const json rungs = json::parse(printed("--counts --n 64 --json"));
  REQUIRE(rungs.size() == 10);
  CHECK(rungs[0].at("name") == "tensor_core");
  CHECK(rungs[0].at("predicted").is_null());
  CHECK(rungs[1].at("d64").at("gain") == 1.78);
  for (const json& rung : rungs) {
    const json run = json::parse(
        Scratch().flashbook("run " + rung.at("name").get<std::string>() + " --n 64 --json").out);
    CHECK(rung.at("counts") == run.at("passes").at(0).at("totals"));
  }
  const std::string table = printed("--counts --n 64");
  CHECK(has(table, "N = 64, d = 64, one head, fp16\n"));
  CHECK(has(printed("--counts --n 64 --causal"), "fp16, causal\n"));
  CHECK(std::count(table.begin(), table.end(), '\n') == 15);
}

TEST_CASE("ladder: bad input") {
  const Scratch scratch;
  check_refused(scratch, "ladder --d 96", {"--d is 96", "64 and 128"});
  check_refused(scratch, "ladder --counts --n 0", {"--n is 0", "1 to 4096"});
  check_refused(scratch, "ladder --n 64", {"--n", "--counts"});
  check_refused(scratch, "ladder --losses --d 128", {"--losses", "--d"});
}
