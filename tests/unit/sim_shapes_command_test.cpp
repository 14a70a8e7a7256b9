// `sim ragged`, `sim kv-cache` and `sim trace` as a user calls them.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/unit/chrome_trace_rules.hpp"
#include "tests/unit/command_line.hpp"

using flashbook::test::Run;
using flashbook::test::Scratch;
using flashbook::test::widest_line;
using Json = nlohmann::json;

namespace {

Json answer(const std::string& arguments) {
  return Json::parse(flashbook::test::json_of("sim " + arguments));
}

const Json& row(const Json& rows, const std::string& column, const std::string& value) {
  for (const Json& r : rows)
    if (r[column] == value) return r;
  throw std::logic_error("no row " + value);
}

std::string contents(const Scratch& scratch, const std::string& file) {
  std::ifstream in(scratch.path(file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void check_for_people(const std::string& arguments, const std::vector<std::string>& parts) {
  CAPTURE(arguments);
  const Run run = Scratch().flashbook("sim " + arguments);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(widest_line(run.out) <= 80);
  CHECK(run.out.find(" \n") == std::string::npos);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
}

void check_refused(const std::string& arguments, const std::vector<std::string>& naming) {
  flashbook::test::check_refused(Scratch(), "sim " + arguments, naming);
}

}  // namespace

// ---- sim ragged

TEST_CASE("sim ragged: FLOPs and bytes of the lengths given, and of the longest of them") {
  const Json out = answer("ragged --lengths 8,4,0 --heads 2 --d 4 --br 8 --bc 8 --dtype fp32");
  CHECK(out["packed_tokens"] == 12);
  CHECK(out["padded_tokens"] == 24);
  const Json& flash = row(out["rows"], "algorithm", "fa2_forward");
  CHECK(flash["source"] == "executed");
  CHECK(flash["packed_flops"] == 2 * 4 * 4 * (64 + 16));
  CHECK(flash["padded_flops"] == 2 * 4 * 4 * 3 * 64);
  CHECK(flash["packed_bytes"] == 2 * 4 * (4 * 4 + 1) * 12);  // Q, K, V, O; LSE
  CHECK(flash["padded_bytes"] == 2 * 4 * (4 * 4 + 1) * 24);
  CHECK(flash["wasted_bytes"] == .5);
  CHECK(flash["packed_tiles"] == 2 * 2);
  CHECK(flash["padded_tiles"] == 2 * 3);
}

TEST_CASE("sim ragged: executed and analytic answers are the same integers, for every algorithm") {
  for (const std::string causal : {"", " --causal"}) {
    const std::string arguments =
        "ragged --lengths 70,0,33,1 --heads 4 --heads-kv 2 --d 8 --br 16 --bc 32" + causal;
    Json executed = answer(arguments), formula = answer(arguments + " --analytic");
    REQUIRE(executed["rows"].size() >= 5);
    for (Json& r : executed["rows"]) CHECK(r["source"] == "executed");
    for (Json& r : formula["rows"]) CHECK(r["source"] == "closed form");
    for (Json* out : {&executed, &formula})
      for (Json& r : (*out)["rows"]) r.erase("source");
    CHECK(executed == formula);
  }
}

TEST_CASE("sim ragged: lengths may come from a file, in any usual form") {
  const Scratch scratch;
  scratch.save_text("lengths.txt", "17, 512\n3\r\n\t0\n");
  const Run file = scratch.flashbook("sim ragged --file lengths.txt --analytic --json");
  CAPTURE(file.err);
  CHECK(file.status == 0);
  CHECK(Json::parse(file.out) == answer("ragged --lengths 17,512,3,0 --analytic"));
}

TEST_CASE("sim ragged: what is too long to run is answered by formula, and says so") {
  const Json out = answer("ragged --lengths 100000,5");
  for (const Json& r : out["rows"]) CHECK(r["source"] == "closed form");
}

TEST_CASE("sim ragged: a table and bars for people; CSV and SVG") {
  check_for_people("ragged --lengths 17,512,3,0 --heads 2", {"wasted", "░", "E executed"});
  check_for_people("ragged --analytic --lengths 1000000,999999,5 --heads 64 --d 256", {"F"});
  check_for_people("ragged --lengths 0,0 --heads 2", {"0 %"});
  std::string many = "1";
  for (int i = 2; i <= 1000; ++i) many += "," + std::to_string(i);
  check_for_people("ragged --analytic --lengths " + many, {"mean ", "1–41"});

  const Scratch scratch;
  const Run run = scratch.flashbook("sim ragged --lengths 9,5 --csv a.csv --svg a.svg");
  CHECK(run.status == 0);
  const std::string csv = contents(scratch, "a.csv"), svg = contents(scratch, "a.svg");
  CHECK(csv.rfind("algorithm,source,packed_flops,", 0) == 0);
  CHECK(csv.find("fa2_forward,executed,") != std::string::npos);
  CHECK(svg.rfind("<svg", 0) == 0);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("sim ragged: bad input is refused in one sentence") {
  check_refused("ragged", {"--lengths", "--file"});
  check_refused("ragged --lengths 3 --file x", {"--lengths", "--file"});
  check_refused("ragged --lengths ,", {"--lengths is empty"});
  check_refused("ragged --lengths ''", {"--lengths"});
  check_refused("ragged --lengths 3,-4", {"--lengths is '-4'"});
  check_refused("ragged --lengths 3,4x", {"--lengths is '4x'"});
  check_refused("ragged --lengths 3,1e3", {"'1e3'"});
  check_refused("ragged --lengths 99999999999999999999", {"--lengths"});
  check_refused("ragged --lengths 1099511627776", {"--lengths", "2^62"});
  check_refused("ragged --file nowhere.txt", {"--file 'nowhere.txt'"});
  check_refused("ragged --file .", {"--file '.'"});
  check_refused("ragged --file /dev/zero", {"--file '/dev/zero'", "larger than"});
  check_refused("ragged --lengths 3 --heads 0", {"--heads is 0"});
  check_refused("ragged --lengths 3 --heads 4 --heads-kv 3", {"--heads-kv is 3"});
  check_refused("ragged --lengths 3 --heads-kv 0", {"--heads-kv is 0"});
  check_refused("ragged --lengths 3 --d -1", {"--d is -1"});
  check_refused("ragged --lengths 3 --br 0", {"--br is 0"});
  check_refused("ragged --lengths 3 --dtype fp64", {"--dtype is fp64"});
  check_refused("ragged --lengths 3 --svg /nowhere/a.svg", {"--svg '/nowhere/a.svg'"});

  const Scratch scratch;
  scratch.save_text("words.txt", "seventeen");
  flashbook::test::check_refused(scratch, "sim ragged --file words.txt", {"--file", "seventeen"});
  scratch.save_text("none.txt", "");
  flashbook::test::check_refused(scratch, "sim ragged --file none.txt", {"--file", "empty"});
}

// ---- sim kv-cache

TEST_CASE("sim kv-cache: scores grow as N², the cache as N, and they cross") {
  const Json out = answer("kv-cache --layers 2 --heads 4 --heads-kv 2 --d 16 --tokens 4096");
  CHECK(out["crossing_tokens"] == 2 * 2 * 16 * 2 / 4);
  for (const Json& r : out["rows"]) {
    const std::int64_t n = r["tokens"];
    CHECK(r["score_bytes_one_layer"] == 2 * 4 * n * n);
    CHECK(r["kv_cache_bytes"] == 2 * 2 * 2 * n * 2 * 16);
  }
  CHECK(out["rows"].back()["tokens"] == 4096);
}

TEST_CASE("sim kv-cache: decode reads the cache once a group, or once a query head") {
  const Json out = answer("kv-cache --layers 3 --heads 8 --heads-kv 2 --d 16 --tokens 1000");
  const std::int64_t cache = out["rows"].back()["kv_cache_bytes"], Q = 3 * 2 * 8 * 16;
  const Json& single = row(out["phases"], "phase", "decode, a tile a query head");
  const Json& grouped = row(out["phases"], "phase", "decode, a tile a group");
  CHECK(single["source"] == "executed");
  CHECK(single["bytes_read"] == 4 * cache + Q);
  CHECK(grouped["bytes_read"] == cache + Q);
  CHECK(single["flops"] == grouped["flops"]);
  CHECK(single["flop_per_byte"].get<double>() == doctest::Approx(1).epsilon(.01));
  CHECK(grouped["flop_per_byte"].get<double>() == doctest::Approx(4).epsilon(.01));
  const Json& prefill = row(out["phases"], "phase", "prefill");
  CHECK(prefill["flop_per_byte"] > 10 * single["flop_per_byte"].get<double>());
}

TEST_CASE("sim kv-cache: executed and analytic answers are the same integers") {
  const std::string arguments = "kv-cache --layers 3 --heads 8 --heads-kv 2 --d 16 --tokens 1000";
  Json executed = answer(arguments), formula = answer(arguments + " --analytic");
  for (Json& r : executed["rows"]) CHECK(r["decode_source"] == "executed");
  for (Json& r : formula["rows"]) CHECK(r["decode_source"] == "closed form");
  for (Json* out : {&executed, &formula}) {
    for (Json& r : (*out)["rows"]) r.erase("decode_source");
    for (Json& p : (*out)["phases"]) p.erase("source");
  }
  CHECK(executed == formula);
}

TEST_CASE("sim kv-cache: tables and a picture for people; CSV and SVG") {
  check_for_people("kv-cache --tokens 16384 --layers 2",
                   {"S / cache", "closed form", "FLOP/B", "multi-query"});
  check_for_people("kv-cache --tokens 1 --heads 1 --heads-kv 1", {"multi-head"});
  const Scratch scratch;
  CHECK(scratch.flashbook("sim kv-cache --tokens 2048 --csv a.csv --svg a.svg").status == 0);
  CHECK(contents(scratch, "a.csv").find("2048,") != std::string::npos);
  CHECK(contents(scratch, "a.svg").find("read per token") != std::string::npos);
}

TEST_CASE("sim kv-cache: bad input is refused in one sentence") {
  check_refused("kv-cache --tokens 0", {"--tokens) is 0"});
  check_refused("kv-cache --tokens 1099511627776", {"--tokens", "2^62"});
  check_refused("kv-cache --tokens x", {"--tokens"});
  check_refused("kv-cache --layers -1", {"--layers"});
  check_refused("kv-cache --heads 8 --heads-kv 3", {"--heads-kv"});
  check_refused("kv-cache --dtype fp64", {"--dtype"});
  check_refused("kv-cache --csv /nowhere/a.csv", {"--csv"});
}

// ---- sim trace

TEST_CASE(
    "sim trace: a file by the format's rules and ours, with the bytes that sim traffic counts") {
  for (const std::string algorithm :
       {"standard_forward", "standard_backward", "fa2_forward", "three_kernel_backward"}) {
    CAPTURE(algorithm);
    const std::string what = " --algorithm " + algorithm + " --n 50 --d 8 --heads 3 --causal" +
                             (algorithm.starts_with("standard") ? "" : " --br 16 --bc 8");
    const Scratch scratch;
    const Run run = scratch.flashbook("sim trace --out t.json --json" + what);
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    flashbook::testing::ChromeTraceRules rules(contents(scratch, "t.json"));
    rules.check();
    const Json traffic = answer("traffic" + what), trace = Json::parse(run.out);
    CHECK(rules.bytes("move") ==
          traffic["bytes_read"].get<std::int64_t>() + traffic["bytes_written"].get<std::int64_t>());
    CHECK(rules.counted("X") + rules.counted("C") == trace["events"].get<std::size_t>());
    std::int64_t moved = 0, flops = 0;
    for (const Json& worker : trace["rows"]) {
      moved += worker["moved_bytes"].get<std::int64_t>();
      flops += worker["flops"].get<std::int64_t>();
      const std::int64_t pid =
          rules.pid("worker " + std::to_string(worker["worker"].get<std::int64_t>()));
      CHECK(worker["moving_ns"] == rules.busy_ns(pid, "move"));
      CHECK(worker["computing_ns"] == rules.busy_ns(pid, "product"));
      CHECK(worker["idle_ns"] == rules.idle_ns(pid, {"move", "product"}, trace["duration_ns"]));
    }
    CHECK(moved == rules.bytes("move"));
    CHECK(flops == traffic["flops_executed"]);
    CHECK(scratch.listing() == std::vector<std::string>{"t.json"});
  }
}

TEST_CASE("sim trace: a worker's time for people, and where to open the file") {
  check_for_people("trace --n 300 --heads 2 --br 64 --bc 64",
                   {"ui.perfetto.dev", "--out", "SRAM held", "█"});
  check_for_people("trace --n 300 --workers 20 --br 8 --bc 64", {"… and 12 more"});
  const Scratch scratch;
  const Run run = scratch.flashbook("sim trace --n 64 --out t.json --csv w.csv");
  CHECK(run.status == 0);
  CHECK(run.out.find("t.json") != std::string::npos);
  CHECK(contents(scratch, "w.csv").rfind("worker,tasks,moved_bytes,", 0) == 0);
}

TEST_CASE("sim trace: too many events are refused with their number") {
  // 100 row tiles of 100 key tiles: each of them K, V, S and two products.
  check_refused("trace --n 1000 --br 2 --bc 2", {"more than 1000000 events", "--br"});
  check_refused("trace --n 1200 --br 5 --bc 5", {"events", "500000"});
}

TEST_CASE("sim trace: bad input is refused in one sentence") {
  check_refused("trace --algorithm fa9", {"fa2_forward"});
  check_refused("trace --n 0", {"--n is 0"});
  check_refused("trace --n 1099511627776", {"--n"});
  check_refused("trace --n 400000", {"--n"});
  check_refused("trace --n 8 --workers 0", {"--workers) is 0"});
  check_refused("trace --n 8 --workers 1025", {"--workers"});
  check_refused("trace --n 8 --gbps 0", {"--gbps"});
  check_refused("trace --n 8 --gbps nan", {"--gbps"});
  check_refused("trace --n 8 --tflops -1", {"--tflops"});
  check_refused("trace --n 8 --out /nowhere/t.json", {"--out '/nowhere/t.json'"});
  check_refused("trace --n 8 --out .", {"--out '.'"});
}

TEST_CASE("a link to the standard output is written to, not replaced") {
  const Scratch scratch;
  const Run run = scratch.shell("ln -s real.csv link.csv && '" FLASHBOOK_PROGRAM
                                "' sim trace --n 8 --csv link.csv");
  CHECK(run.status == 0);
  CHECK(std::filesystem::is_symlink(scratch.path("link.csv")));
  CHECK(contents(scratch, "real.csv").rfind("worker,", 0) == 0);
}
