// `timeline`: recordings that are drawn, made on the emulator, kept, and refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

using flashbook::test::check_refused;
using flashbook::test::holds;
using flashbook::test::Run;
using flashbook::test::Scratch;
using flashbook::test::widest_line;
using Json = nlohmann::json;

TEST_CASE("timeline: the book's recording is an H200's, in cycles, and overlap gains") {
  const Run table = Scratch().flashbook("timeline");
  CHECK(table.status == 0);
  CHECK(widest_line(table.out) <= 80);
  CHECK(holds(table.out, "NVIDIA H200, driver "));
  CHECK(!holds(table.out, "no time"));
  const Json orders = Json::parse(flashbook::test::json_of("timeline"))["orders"];
  REQUIRE(orders.size() == 4);
  CHECK(orders[0]["hidden_softmax"] == 0);
  CHECK(orders[1]["hidden_softmax"].get<double>() > .5);
  CHECK(orders[1]["cycles_a_tile"].get<double>() < orders[0]["cycles_a_tile"].get<double>());
  for (const Json& order : orders) CHECK(order["utilisation"].get<double>() < 1);
}

TEST_CASE("timeline: one order as text and picture") {
  const Scratch scratch;
  const Run run = scratch.flashbook("timeline in_turns --tile 3 --cycles 4000 --svg a.svg");
  CHECK(run.status == 0);
  CHECK(widest_line(run.out) <= 80);
  CHECK(holds(run.out, "from tile 3 of the keys on"));
  CHECK(holds(run.out, "|3000"));
  CHECK(holds(scratch.shell("cat a.svg").out, "in_turns"));
}

TEST_CASE("timeline: what the emulator records is no time, and comes back from its file") {
  const Scratch scratch;
  const Run made = scratch.flashbook("timeline overlapped --on cpu --n 256 --record r.json");
  CHECK(made.status == 0);
  CHECK(widest_line(made.out) <= 80);
  CHECK(holds(made.out, "steps are no time"));
  CHECK(scratch.flashbook("timeline overlapped --recording r.json").out == made.out);
}

TEST_CASE("timeline: what it refuses") {
  const Scratch scratch;
  check_refused(scratch, "timeline sideways", {"ORDER is 'sideways'", "overlapped"});
  check_refused(scratch, "timeline in_turns --tile 32", {"--tile is 32", "0 to 31"});
  check_refused(scratch, "timeline --tile 3", {"--tile is 3", "ORDER, or --svg"});
  check_refused(scratch, "timeline --cycles 64", {"--cycles is 64", "ORDER, or --svg"});
  const std::string made = "timeline --on cpu --n 128 --record r.json ";
  check_refused(scratch, made + "sideways", {"ORDER is 'sideways'", "overlapped"});
  check_refused(scratch, made + "in_turns --tile 1", {"--tile is 1", "0 to 0"});
  check_refused(scratch, "timeline --on cpu --n 200", {"--n is 200", "multiple of 128"});
  check_refused(scratch, "timeline --n 256", {"--on"});
  check_refused(scratch, "timeline --recording none.json", {"none.json", "cannot be read"});
  scratch.save_text("bad.json", "{}");
  check_refused(scratch, "timeline --recording bad.json", {"bad.json", "is no recording"});
}
