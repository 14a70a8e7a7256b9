#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/command_line.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace flashbook {
namespace {

using test::check_refused;
using test::Run;
using test::Scratch;

#ifndef FLASHBOOK_SANITIZED  // the same code runs in other tests, in less time
/// The lines that README.md shows of the tour's output, but for its cuts.
std::vector<std::string> lines_in_readme() {
  std::ifstream page(FLASHBOOK_SOURCE "/README.md");
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(page, line) && line != "$ ./book tour") {
  }
  while (std::getline(page, line) && line != "```")
    if (!line.empty() && line != "…") lines.push_back(line);
  return lines;
}

TEST_CASE("tour: steps, counts, draws and verifies") {
  const Scratch scratch;
  const Run run = scratch.flashbook("tour --svg traffic.svg");
  CHECK_MESSAGE(run.status == 0, run.err);
  CHECK(run.err.empty());
  for (const char* part : {"0.0009", "closed form", "running it", "layer5 fp32",
                           "All of them agree with the oracle."}) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
  CHECK(scratch.listing() == std::vector<std::string>{"traffic.svg"});

  const std::vector<std::string> shown = lines_in_readme();
  REQUIRE(shown.size() > 5);
  std::size_t at = 0;
  for (const std::string& line : shown) {
    CAPTURE(line);
    at = run.out.find("\n" + line + "\n", at);
    REQUIRE(at != std::string::npos);
  }
}
#endif

TEST_CASE("list: implementations that answer alike share a column; refusals are said once") {
  const Run run = Scratch().flashbook("list");
  CHECK(run.status == 0);
  const std::string words = test::squeezed(run.out);
  for (const char* part :
       {" io.split_kv C no ", " takes A B C D E F G H fp16 yes ", " C decode has no backward pass"})
    CHECK_MESSAGE(words.find(part) != std::string::npos, run.out);
}

TEST_CASE("tour and list: bad input is refused before the work begins") {
  const Scratch scratch;
  check_refused(scratch, "tour --svg nowhere/traffic.svg", {"--svg", "nowhere", "write"});
  check_refused(scratch, "tour --svg .", {"--svg", "'.'", "write"});
  check_refused(scratch, "tour --data nowhere", {"--data", "nowhere", "pass a readable .npy"});
  scratch.save("minilm_layer0_q.npy", {1, 6, 2, 4});
  scratch.save("minilm_layer0_k.npy", {1, 6, 2, 3});
  scratch.save("minilm_layer0_v.npy", {1, 6, 2, 4});
  check_refused(scratch, "tour --data .", {"--data '.'", "--k has 3 channels"});
  check_refused(scratch, "tour --frobnicate", {"--frobnicate", "--help"});
  check_refused(scratch, "list oracle", {"oracle", "--help"});
}

}  // namespace
}  // namespace flashbook
