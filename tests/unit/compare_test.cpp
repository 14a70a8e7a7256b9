// `flashbook compare` as a user meets it: which rows of two correct kernels differ, and why.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::Run;
using flashbook::test::Scratch;

constexpr const char* causal = " --problem 'hq=4 nq=97 d=64 dtype=fp16 causal'";

/// Differing elements of O, by runs of 16 rows.
std::vector<int> differing_rows(const std::string& a, const std::string& b,
                                const std::string& more = "") {
  const Run run =
      Scratch().flashbook("compare '" + a + "' '" + b + "'" + causal + " --rows 16 --json " + more);
  REQUIRE(run.status == 0);
  const auto report = nlohmann::json::parse(run.out);
  CHECK(report["a_status"] == "passed");
  CHECK(report["b_status"] == "passed");
  return report["differing_elements"]["O"].get<std::vector<int>>();
}

}  // namespace

TEST_CASE("compare: an implementation is like itself") {
  const std::vector<int> found = differing_rows("io.fa2[16x32]", "io.fa2[16x32]");
  CHECK(found == std::vector<int>(7, 0));  // 97 rows are 6 runs of 16 and one row
}

TEST_CASE("compare: rows that see one key tile in either do the same arithmetic, others do not") {
  const std::vector<int> found = differing_rows("io.fa2[32x64]", "io.fa2[32x32]");
  REQUIRE(found.size() == 7);
  CHECK(found[0] == 0);
  CHECK(found[1] == 0);
  for (std::size_t run = 2; run < 6; ++run) CHECK(found[run] > 0);
}

TEST_CASE("compare: gradients only when asked for; keys and queries may be of different numbers") {
  const Scratch scratch;
  const std::string pair = "compare io.fa2 standard --problem 'nq=3 nk=40 d=8 dtype=bf16'";
  CHECK(scratch.flashbook(pair).out.find("dQ") == std::string::npos);
  const Run run = scratch.flashbook(pair + " --backward");
  CHECK(run.status == 0);
  CHECK(run.out.find("dQ") != std::string::npos);
  // Tokens 32 to 39 are keys only: no O, no LSE, no dQ.
  const auto line = run.out.find("32–39");
  REQUIRE(line != std::string::npos);
  const std::string cells = run.out.substr(line, run.out.find('\n', line) - line);
  std::size_t dashes = 0;
  for (auto at = cells.find("–", 5); at != std::string::npos; at = cells.find("–", at + 1))
    ++dashes;
  CHECK(dashes == 3);
}

TEST_CASE("compare: bad input is one sentence, status 2") {
  const Scratch scratch;
  const auto complains = [&](const std::string& arguments, const std::string& part) {
    flashbook::test::check_refused(scratch, "compare " + arguments, {part});
  };
  complains("io.fa2 nobody --problem 'nq=3'", "pass one of oracle");
  complains("io.fa2 --problem 'nq=3'", "B is required");
  complains("io.fa2 oracle", "--problem is required");
  complains("io.fa2 oracle --problem 'nq=many'", "nq is 'many'");
  complains("io.fa2 oracle --problem 'nq=3' --rows 0", "rows");
  complains("io.fa2 oracle --problem 'nq=3 dtype=fp64'", "pass fp32, fp16 or bf16");
  complains("io.fa2 io.split_kv --problem 'nq=3' --backward", "no backward pass");
}
