// `sim sweep`, `sim bound` and `sim blocks` as a user calls them.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/command_line.hpp"

using flashbook::test::Run;
using flashbook::test::Scratch;

namespace {

nlohmann::json answer(const std::string& arguments) {
  const Run run = Scratch().flashbook("sim " + arguments + " --json");
  CAPTURE(arguments);
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  return nlohmann::json::parse(run.out);
}

void check_refused(const std::string& arguments, const std::string& naming) {
  flashbook::test::check_refused(Scratch(), "sim " + arguments, {naming});
}

/// The widest line, in characters.
std::size_t width(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t characters = 0;
    for (const char c : line) characters += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    widest = std::max(widest, characters);
  }
  return widest;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("sim sweep: flash traffic is proportional to 1/M, standard's to nothing, within 2 %") {
  const auto out = answer(
      "sweep --over m --from 16384 --to 16777216 --n 1000000 --points 11 "
      "--algorithm fa1_forward,fa2_forward,standard_forward");
  CHECK(out["rows"].size() == 33);
  for (const std::size_t flash : {0, 1}) {
    const auto& law = out["slopes"][flash];
    CHECK(law["exponent"].get<double>() == doctest::Approx(-1).epsilon(.02));
    CHECK(law["residual"].get<double>() <= .05);
    CHECK(law["points"] == 11);
    CHECK(law["first"] == 16384);
    CHECK(law["last"] == 16777216);
  }
  CHECK(out["slopes"][2]["exponent"].get<double>() == doctest::Approx(0).epsilon(1e-9));
}

TEST_CASE(
    "sim sweep: traffic is proportional to N² within 2 %, flash and standard, causal or not") {
  for (const std::string causal : {"", " --causal"}) {
    const auto out = answer(
        "sweep --over n --from 16384 --to 1048576 --sram 65536 "
        "--algorithm fa2_forward,standard_forward" +
        causal);
    for (const auto& law : out["slopes"])
      CHECK(law["exponent"].get<double>() == doctest::Approx(2).epsilon(.02));
  }
}

TEST_CASE("sim sweep: where no slope is stated, it says which of three reasons is the cause") {
  const auto why = [](const std::string& arguments) {
    const auto slope = answer("sweep --algorithm fa2_forward --analytic " + arguments)["slopes"][0];
    CHECK(slope["exponent"].is_null());
    return slope["why_none"].get<std::string>();
  };
  CHECK(why("--over n --from 65536 --to 262144 --sram 65536") ==
        "4 points must move so much, not 3");
  // With a tile as long as N everything is read once: the compulsory traffic.
  CHECK(why("--over br --from 1024 --to 16384 --n 1024 --bc 64") ==
        "4 points must move so much, not 0");
  CHECK(why("--over n --from 65536 --to 131072 --points 6 --sram 65536") ==
        "what moves so much spans less than a factor of 4");
  // d² is not to be seen where the few rows that fit are ever fewer.
  CHECK(why("--over d --from 64 --to 512 --n 65536 --sram 16384") ==
        "no 4 neighbours over a factor of 4 on a line");
  const auto law = answer("sweep --over n --from 16384 --to 1048576 --sram 65536")["slopes"][1];
  CHECK(law["why_none"].is_null());
}

TEST_CASE("sim sweep: a bound is stated of dense forward runs that hold no more than M") {
  const auto bounds = [](const std::string& arguments) {
    std::vector<bool> stated;
    const auto out = answer("sweep --analytic " + arguments);
    for (const auto& row : out["rows"]) {
      stated.push_back(!row["bound_bytes"].is_null());
      if (stated.back())
        CHECK(row["bytes_read"].get<double>() + row["bytes_written"].get<double>() >=
              row["bound_bytes"].get<double>());
    }
    return stated;
  };
  const std::string over_m = "--over m --from 65536 --to 262144 --points 2 --algorithm ";
  CHECK(bounds(over_m + "fa1_forward") == std::vector<bool>{true, true});
  CHECK(bounds(over_m + "fa1_forward --causal") == std::vector<bool>{false, false});
  CHECK(bounds(over_m + "three_kernel_backward") == std::vector<bool>{false, false});
  CHECK(bounds("--over n --from 256 --to 512 --points 2 --algorithm fa1_forward") ==
        std::vector<bool>{false, false});
  // The paper's blocks, at M = 4d² elements and at 16d²: they fit the second only.
  CHECK(bounds(over_m + "fa1_forward --blocks paper") == std::vector<bool>{false, true});
}

TEST_CASE("sim sweep: flags that no algorithm named reads are refused") {
  const std::string sweep = "sweep --over n --from 64 --to 512 ";
  check_refused(sweep + "--splits 7 --algorithm fa2_forward", "--splits");
  check_refused(sweep + "--includes-init --algorithm fa2_forward", "--includes-init");
  check_refused(sweep + "--sram 65536 --algorithm standard_forward", "--sram");
  check_refused("sweep --over m --from 4096 --to 65536 --blocks paper --algorithm standard_forward",
                "--sram");
  const auto mixed = answer(sweep + "--splits 7 --algorithm fa2_forward,split_kv_decode");
  CHECK(mixed["rows"].size() == 8);
}

TEST_CASE("sim sweep: small points are executed, large ones closed forms, with the same integers") {
  const std::string arguments =
      "sweep --over n --from 64 --to 65536 --points 6 --sram 20000 --algorithm "
      "fa1_forward,fa2_forward";
  auto executed = answer(arguments), formula = answer(arguments + " --analytic");
  CHECK(executed["rows"].front()["source"] == "executed");
  CHECK(executed["rows"].back()["source"] == "closed form");
  for (auto* out : {&executed, &formula})
    for (auto& point : (*out)["rows"]) {
      CHECK((out == &executed || point["source"] == "closed form"));
      point.erase("source");
    }
  CHECK(executed == formula);
}

TEST_CASE("sim sweep: every axis; the swept block is the one that varies") {
  for (const std::string over : {"n", "d", "m", "br", "bc"}) {
    const auto out =
        answer("sweep --from 1100 --to 4400 --points 3 --algorithm fa2_forward --over " + over);
    REQUIRE(out["rows"].size() == 3);
    for (const auto& point : out["rows"])
      if (over == "br" || over == "bc")  // no more than the 1024 rows or keys there are
        CHECK(point[over].get<int>() == std::min(point["value"].get<int>(), 1024));
  }
  const auto paper = answer(
      "sweep --over m --from 16384 --to 131072 --n 4096 --blocks paper --algorithm fa1_forward");
  for (const auto& point : paper["rows"])
    CHECK(point["bc"].get<int>() == (point["value"].get<int>() / 4 + 255) / 256);
  CHECK(paper["rows"][2]["value"] == 65536);  // 4d² elements: 1.25 M, m and l
  CHECK(paper["rows"][2]["peak_sram_bytes"] == 65536 * 5 / 4 + 2 * 4 * 64);
}

TEST_CASE("sim sweep, bound and blocks: at most 80 columns, a CSV, and a picture") {
  const Scratch scratch;
  for (const std::string arguments : {"sweep --over n --from 256 --to 4096 --sram 65536",
                                      "bound --n 65536", "bound --n 65536 --d 128 --dtype fp16",
                                      "sweep --over m --from 4096 --to 262144 --analytic"}) {
    CAPTURE(arguments);
    const Run run = scratch.flashbook("sim " + arguments + " --csv a.csv --svg a.svg");
    CHECK(run.status == 0);
    CHECK(run.err.empty());
    CHECK(width(run.out) <= 80);
    CHECK(contents(scratch.path("a.svg")).find("</svg>") != std::string::npos);
    CHECK(contents(scratch.path("a.csv")).find("\r\n") != std::string::npos);
  }
  const Run blocks = scratch.flashbook("sim blocks --sram 65536 --csv b.csv");
  CHECK(width(blocks.out) <= 80);
  CHECK(contents(scratch.path("b.csv")).find("fa1_forward,paper,64,64,closed form") !=
        std::string::npos);
}

TEST_CASE(
    "sim bound: crossings at 0.221 d² and 0.392 d² at d = 128, and no tiling below the bound") {
  const auto out = answer("bound --d 128");
  const auto& crossings = out["crossings"];
  CHECK(crossings["fa2_forward_square_tiling"]["first_m_over_d2"].get<double>() ==
        doctest::Approx(.221).epsilon(.003));
  CHECK(crossings["fa1_forward_square_tiling"]["first_m_over_d2"].get<double>() ==
        doctest::Approx(.392).epsilon(.003));
  for (const auto& point : out["rows"])
    for (const char* key : {"square_tiling", "fa1_forward", "fa2_forward"})
      if (!point[key].is_null())
        CHECK(point[key].get<double>() >= point["lower_bound"].get<double>());
  const Run run = Scratch().flashbook("sim bound");
  CHECK(run.out.find("FA1 moves 12.3 with") !=
        std::string::npos);  // 12.25, and at N = 2^20 a little more
  CHECK(run.out.find("from B_r = 32 on") != std::string::npos);
  const Run one_channel = Scratch().flashbook("sim bound --d 1");
  CHECK(one_channel.out.find("with B_c = 1 already") != std::string::npos);
  const Run few_tokens = Scratch().flashbook("sim bound --n 8");
  CHECK(few_tokens.out.find("no less than standard_forward even with B_c = 8") !=
        std::string::npos);
}

TEST_CASE("sim blocks: the best fit; the paper's at M = 4d² are 1.25 M, and fit from 8d² on") {
  const auto out = answer("blocks --m 16384 --algorithm fa1_forward,fa2_forward");
  CHECK(out["sram_bytes"] == 65536);
  int kvqos = 0;
  for (const auto& tile : out["paper_tiles"])
    if (tile["tile"] != "m" && tile["tile"] != "l") kvqos += tile["bytes"].get<int>();
  CHECK(out["paper_tiles"].size() == 7);
  CHECK(kvqos == 65536 * 5 / 4);
  for (const auto& choice : out["rows"]) CHECK(choice["fits"] == (choice["blocks"] == "best"));
  CHECK(out["rows"][1]["peak_sram_bytes"] == kvqos + 2 * 4 * 64);
  // B_c = 130 is the first with room for m and l too: 8d² elements and 512 more.
  const auto fits = answer("blocks --m 33280 --algorithm fa1_forward");
  CHECK(fits["rows"][1]["fits"] == true);
  const auto fp16 = answer("blocks --m 16384 --dtype fp16 --algorithm fa1_forward");
  CHECK(fp16["sram_bytes"] == 32768);
  CHECK(fp16["rows"][1]["br"] == 64);
  const Run why = Scratch().flashbook("sim blocks --m 65536 --dtype fp16 --algorithm fa1_forward");
  CHECK(width(why.out) <= 80);
  CHECK(why.out.find("others 0.504 M") != std::string::npos);
  CHECK(why.out.find("more: O_partial, m, l, S") != std::string::npos);
}

TEST_CASE("sim traffic: --blocks paper runs where it fits, and else says what does not") {
  const std::string traffic = "traffic --algorithm fa1_forward --n 256 --d 16 ";
  const auto out = answer(traffic + "--sram 16384 --blocks paper");
  CHECK(out["br"] == 16);
  CHECK(out["bc"] == 64);
  CHECK(out["executed"] == true);
  for (const std::string analytic : {"", " --analytic"}) {
    check_refused(traffic + "--sram 4096 --blocks paper" + analytic, "S 1024, in all 5248 bytes");
    check_refused(traffic + "--sram 4096 --blocks paper" + analytic, "--blocks");
  }
  check_refused(traffic + "--blocks paper", "--sram");
  check_refused(traffic + "--sram 4096 --blocks worst", "--blocks");
}

TEST_CASE("sim sweep, bound and blocks: bad input is refused in one sentence") {
  const std::string sweep = "sweep --over n ";
  check_refused("sweep --over x --from 1 --to 9", "--over");
  for (const std::string bad : {"0", "-4", "nan", "inf", "1.5", "99999999999999999999"}) {
    check_refused(sweep + "--from " + bad + " --to 64", "--from");
    check_refused(sweep + "--from 16 --to 64 --points " + bad, "--points");
  }
  check_refused(sweep + "--from 64 --to 16", "--to");
  check_refused(sweep + "--from 64 --to 64", "--to");
  check_refused(sweep + "--from 64 --to 1000000000000", "--to");
  check_refused(sweep + "--from 64 --to 100000000 --causal", "--causal");
  check_refused("sweep --over m --from 64 --to 9000000000000000000", "--to");
  check_refused("sweep --over m --from 4 --to 64 --algorithm fa2_forward", "--to");
  check_refused(sweep + "--from 16 --to 64 --points 1", "--points");
  check_refused(sweep + "--from 16 --to 64 --points 201", "--points");
  check_refused(sweep + "--from 16 --to 64 --n 5", "--n");
  check_refused("sweep --over m --from 16 --to 64 --br 5 --bc 5", "--br");
  check_refused("sweep --over br --from 16 --to 64 --sram 5000", "--sram");
  check_refused(sweep + "--from 16 --to 64 --algorithm fa2_forward,fa2_forward", "twice");
  check_refused(sweep + "--from 16 --to 64 --algorithm fa9", "fa9");
  check_refused(sweep + "--from 16 --to 64 --svg no/such/folder.svg", "--svg");
  for (const std::string bad : {"0", "-1", "nan", "1000000000000"}) {
    check_refused("bound --n " + bad, "--n");
    check_refused("bound --d " + bad, "--d");
  }
  check_refused("bound --dtype fp64", "--dtype");
  check_refused("blocks", "--sram");
  check_refused("blocks --sram 65536 --m 16384", "--m");
  check_refused("blocks --sram 0", "--sram");
  check_refused("blocks --m -3", "--m");
  check_refused("blocks --m 3 --dtype fp64", "--dtype");
  check_refused("blocks --sram 65536 --algorithm standard_forward", "--algorithm");
}
