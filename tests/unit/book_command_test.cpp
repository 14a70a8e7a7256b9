// read and check, as their users meet them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/command_line.hpp"

namespace flashbook::test {
namespace {

/// check, with answers in the scratch folder.
Run check(const Scratch& scratch, const std::string& arguments) {
  return scratch.shell("FLASHBOOK_ANSWERS=. '" FLASHBOOK_PROGRAM "' check " + arguments);
}

const char* const answer = "01_memory_wall/outgrow.hpp";

}  // namespace

TEST_CASE("read: the chapters, one of them, and terms, from any folder and without colours") {
  const Scratch scratch;
  const Run list = scratch.flashbook("read");
  CHECK(list.status == 0);
  CHECK(holds(list.out, "1. The memory wall\n"));
  CHECK(holds(list.out, "15 minutes; needs nothing\n"));

  const Run chapter = scratch.flashbook("read 1");
  CHECK(chapter.status == 0);
  CHECK(holds(chapter.out, "$ ./book sim roofline"));
  CHECK(!holds(chapter.out, "\x1b"));
  CHECK(scratch.flashbook("read memory_wall --step").out == chapter.out);
  CHECK(scratch.flashbook("read --term sram").out.rfind("SRAM\n────\n", 0) == 0);
  CHECK(holds(scratch.flashbook("read sources").out, "arXiv 2205.14135"));
  check_refused(scratch, "read 99", {"no chapter '99'", "1 (memory_wall)"});
  check_refused(scratch, "read --step", {"--step", "read 1 --step"});
  check_refused(scratch, "read --term nothing_like_it",
                {"--term nothing_like_it", "read glossary"});
}

TEST_CASE("check: an exercise from its start to the end") {
  const Scratch scratch;
  const Run first = check(scratch, "1 outgrow");
  CAPTURE(first.out);
  CAPTURE(first.err);
  CHECK(first.status == 1);
  CHECK(holds(first.out, "When does S outgrow everything else?\n════"));
  CHECK(holds(first.out, "at N = 4096 S holds 8 times"));
  CHECK(holds(first.out, "Now edit 01_memory_wall/outgrow.hpp"));

  for (const auto& [mistake, where] :
       {std::pair("= x;", "outgrow.hpp:2:"), {"= 51'200", "outgrow.hpp"}}) {  // g++: at its end
    scratch.save_text(answer, std::string("#pragma once\nconstexpr long answer ") + mistake + "\n");
    const Run broken = check(scratch, "1 outgrow");
    CAPTURE(broken.out);
    CHECK(broken.status == 1);
    CHECK(holds(broken.out, "does not compile"));
    CHECK(holds(broken.out, where));
    for (const char* noise : {"ninja", "FAILED", "-std=", "/usr/include"})
      CHECK(!holds(broken.out, noise));
  }

  const Run solution = check(scratch, "1 outgrow --solution");
  CHECK(solution.status == 0);
  scratch.save_text(answer, solution.out);
  const Run solved = check(scratch, "memory_wall outgrow");
  CAPTURE(solved.out);
  CHECK(solved.status == 0);
  CHECK(holds(solved.out, "passes"));

  const Run again = check(scratch, "1 outgrow --reset");
  CHECK(again.status == 1);
  CHECK(scratch.listing() ==
        std::vector<std::string>{"01_memory_wall", answer, std::string(answer) + ".old"});
}

TEST_CASE("check: what there is not") {
  const Scratch scratch;
  const Run list = check(scratch, "");
  CHECK(list.status == 0);
  CHECK(list.out.find("score_gradient:") < list.out.find("base_two:"));  // as the chapter has them
  CHECK(holds(list.out, "   outgrow: When does S outgrow everything else?\n"));
  check_refused(scratch, "check 1 nothing", {"no exercise 'nothing'", "count, outgrow, ridge"});
  check_refused(scratch, "check 1 --solution", {"--solution", "check 1 count"});
}

}  // namespace flashbook::test
