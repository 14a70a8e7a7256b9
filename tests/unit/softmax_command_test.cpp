// `softmax`: what chapter 2 shows is right, and its mistakes are wrong in the way it says.
#include <doctest/doctest.h>

#include "tests/unit/command_line.hpp"

namespace {

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;

void check_says(const std::string& arguments, const std::vector<std::string>& parts) {
  const Run run = Scratch().flashbook("softmax " + arguments);
  CAPTURE(arguments);
  CHECK_MESSAGE(run.status == 0, run.err);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK_MESSAGE(run.out.find(part) != std::string::npos, run.out);
  }
}

const std::string right = "at most 0.0000";

}  // namespace

TEST_CASE("softmax: in pieces of any length, hidden scores among them, it is the softmax") {
  // e^-7 = 0.0009119, e^-5 = 0.0067379, e^-8 = 0.0003355; ℓ is 1 and these.
  const std::string o = "0.0009  0.0067  0.9921  0.0003";
  for (const char* piece : {"1", "2", "3", "4", "5"})
    check_says("3 5 10 2 --piece " + std::string(piece), {"o/ℓ", o, "10.008", right});
  check_says("hidden hidden 5 --piece 2", {"LSE = m + ln ℓ = 5,", right});
  check_says("hidden 5 hidden -2", {"0.9991", right});
  check_says("hidden hidden", {"LSE = m + ln ℓ = −∞, exact −∞", right});
  check_says("-20000 -20001", {"0.7311  0.2689", right});
}

TEST_CASE("softmax: what is forgotten shows, unless the maximum comes first") {
  check_says("3 5 10 2 --forget both", {"0.3333  0.3333  0.3333  0.0001", "at most 0.6588"});
  check_says("3 5 10 2 --forget o", {"0.9921  0.9921  0.9921  0.0003", "LSE = m + ln ℓ = 10.008,"});
  for (const char* forget : {"o", "both"})
    check_says("10 5 3 2 --forget " + std::string(forget), {right});
}

TEST_CASE("softmax: any start near the scores does, and one too high loses them") {
  for (const char* start : {"0", "3", "10.008", "50"})
    check_says("3 5 10 2 --start " + std::string(start), {right});
  check_says("--start 0 -200 -201", {"= −∞, exact -199.687", "at most 0.7311"});
}

TEST_CASE("softmax: parts merge to one state in any order") {
  check_says("3 5 10 2 --merge", {"(5, 1.1353) (10, 1.0003)", "pairs       (10, 1.0080)",
                                  "last    (10, 1.0080)", "first    (10, 1.0080)"});
  check_says(
      "hidden 5 hidden 4 3 --piece 2 --merge",
      {"(5, 1.0000) (4, 1.0000) (3, 1.0000)", "last    (5, 1.5032)", "first    (5, 1.5032)"});
  check_says("hidden hidden --merge", {"(−∞, 0.0000)"});
}

TEST_CASE("softmax: accesses are counted") {
  check_says("--count 1000 1001 1002", {"naive        6       3     3     NaN",
                                        "safe         9       3     4  0.0900  0.2447  0.6652",
                                        "online       6       3     3  0.0900  0.2447  0.6652"});
}

TEST_CASE("softmax: bad input") {
  const Scratch scratch;
  check_refused(scratch, "softmax", {"scores", "--help"});
  check_refused(scratch, "softmax 1 2 3 4 5 6 7", {"scores", "7", "pass 1 to 6"});
  check_refused(scratch, "softmax 1 x", {"'x'", "hidden"});
  check_refused(scratch, "softmax nan", {"'nan'", "finite"});
  check_refused(scratch, "softmax 1 --piece 0", {"--piece", "is 0", "at least 1"});
  check_refused(scratch, "softmax 1 --start inf", {"--start", "inf", "finite"});
  check_refused(scratch, "softmax 1 --forget m", {"--forget", "o", "both"});
  check_refused(scratch, "softmax 1 --count --merge", {"--count", "--merge"});
  check_refused(scratch, "softmax hidden --count", {"--count", "hidden"});
}
