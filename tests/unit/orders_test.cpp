// Recordings of chapter 12: what stamps add up to, how a recording is kept, and that the kernels
// write what their order says.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/chapters/12_overlap/launch_orders.cuh"
#include "walkthrough/orders/pictures.hpp"
#include "walkthrough/orders/shares.hpp"
#include "walkthrough/temporary_folder.hpp"
#include "walkthrough/text_width.hpp"

using namespace flashbook;
using namespace flashbook::orders;

namespace {

/// One tile: 10 cycles for K, 20 to start S, 30 until it is there, 40 of softmax of which none is
/// hidden, then O with 15 of softmax beside it.
const Stamps one_tile = {
    {Phase::waits_for_K, 0}, {Phase::starts_S, 10}, {Phase::waits_for_S, 30},  {Phase::softmax, 60},
    {Phase::starts_O, 100},  {Phase::softmax, 105}, {Phase::waits_for_O, 120}, {Phase::done, 200}};

Recording small_recording() {
  return {Machine::gpu, "a GPU", "1.2",
          128,          3,       {{"one", "the one order", 190, {one_tile, one_tile}}}};
}

long count(const Stamps& stamps, Phase phase) {
  return std::count_if(stamps.begin(), stamps.end(),
                       [&](const Stamp& stamp) { return stamp.phase == phase; });
}

/// Softmaxes that begin with a product under way that nobody has waited for.
long softmaxes_beside_products(const Stamps& stamps) {
  const std::vector<Interval> products = products_of(stamps);
  long found = 0;
  for (const Stamp& stamp : stamps)
    if (stamp.phase == Phase::softmax)
      found += std::any_of(products.begin(), products.end(), [&](const Interval& i) {
        return i.begin <= stamp.cycles && stamp.cycles < i.end;
      });
  return found;
}

}  // namespace

TEST_CASE("orders: stretches, products under way, and their shares") {
  const std::vector<Interval> products = products_of(one_tile);
  REQUIRE(products.size() == 2);
  CHECK(products[0].begin == 10);
  CHECK(products[0].end == 60);
  CHECK(products[1].begin == 100);
  CHECK(products[1].end == 200);
  const Shares shares = shares_of(small_recording().orders[0], 1);
  CHECK(shares.cycles == 200);
  CHECK(shares.cycles_a_tile == 190);
  const auto of = [&](Activity a) { return shares.of_consumer[static_cast<std::size_t>(a)]; };
  CHECK(of(Activity::copies) == doctest::Approx(10. / 200));
  CHECK(of(Activity::turn) == 0);
  CHECK(of(Activity::products) == doctest::Approx(110. / 200));
  CHECK(of(Activity::softmax) == doctest::Approx(55. / 200));
  CHECK(of(Activity::starts) == doctest::Approx(25. / 200));
  CHECK(shares.hidden == doctest::Approx(15. / 55));
  CHECK(shares.utilisation == doctest::Approx(2048. / 190));
}

TEST_CASE("orders: two products at once are one interval") {
  const Stamps stamps = {{Phase::starts_S, 0}, {Phase::starts_O, 5},     {Phase::waits_for_S, 9},
                         {Phase::softmax, 20}, {Phase::waits_for_O, 50}, {Phase::softmax, 51},
                         {Phase::done, 60}};
  const std::vector<Interval> products = products_of(stamps);
  REQUIRE(products.size() == 1);
  CHECK(products[0].begin == 0);
  CHECK(products[0].end == 51);
}

TEST_CASE("orders: a recording comes back from its file as it was; what is none is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "recording.json";
  const std::string text = text_of_file(small_recording());
  const auto write = [&](const std::string& what) { std::ofstream(file) << what; };
  write(text);
  const Recording read = read_recording(file);
  CHECK(text_of_file(read) == text);
  CHECK(read.order("one").consumers[1].size() == one_tile.size());
  CHECK_THROWS_AS(read.order("two"), InputError);
  const std::pair<std::string, std::string> mistakes[] = {
      {"8,200", "7,200"},            // no end
      {"4,100", "4,55"},             // back in time
      {"3,10,", "9,10,"},            // no phase
      {"\"tokens\"", "\"token\""}};  // no such field
  for (const auto& [from, to] : mistakes) {
    std::string spoilt = text;
    REQUIRE(spoilt.find(from) != std::string::npos);
    write(spoilt.replace(spoilt.find(from), from.size(), to));
    CHECK_THROWS_AS(read_recording(file), InputError);
  }
  CHECK_THROWS_AS(read_recording(folder.path() / "none.json"), InputError);
}

TEST_CASE("orders: each kernel's stamps are those of its order, and its result passes the gates") {
  const std::int64_t tiles = 3;
  const Recording recording = record(Machine::cpu, tiles * tile_keys, 1);
  REQUIRE(recording.orders.size() == 4);
  for (const OrderRecording& order : recording.orders) {
    CAPTURE(order.name);
    const bool in_turns = order.name == "in_turns" || order.name == "no_maximum";
    for (const Stamps& stamps : order.consumers) {
      CHECK(count(stamps, Phase::starts_S) == tiles);
      CHECK(count(stamps, Phase::waits_for_S) == tiles);
      CHECK(count(stamps, Phase::starts_O) == tiles);
      CHECK(count(stamps, Phase::waits_for_O) == tiles);
      CHECK(count(stamps, Phase::softmax) == 2 * tiles);
      CHECK(count(stamps, Phase::waits_for_turn) == (in_turns ? tiles : 0));
      CHECK(stamps.back().phase == Phase::done);
      const bool overlaps = order.name != "one_after_another";
      CHECK(softmaxes_beside_products(stamps) == (overlaps ? tiles - 1 : 0));
    }
  }
}

TEST_CASE("orders: pictures fit 80 columns, say whose time it is, and draw each stretch") {
  const Recording recording = small_recording();
  const OrderRecording& order = recording.orders[0];
  const std::string text = text_of(recording, order, {0, 200});
  CHECK(text.find("On an a GPU, driver 1.2") != std::string::npos);
  CHECK(text.find("no time") == std::string::npos);
  CHECK(text_of(record(Machine::cpu, 128, 1), order, {0, 200}).find("no time") !=
        std::string::npos);
  std::istringstream lines(text + table_of(recording));
  for (std::string line; std::getline(lines, line);) CHECK(width_of(line) <= 80);
  const std::string svg = svg_of(recording, {&order}, {0, 200});
  CHECK(svg.find("class=\"runs\"") != std::string::npos);
  CHECK(svg.find("class=\"turn\"") == svg.rfind("class=\"turn\""));  // the legend's alone
}
