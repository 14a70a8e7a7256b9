// `sim roofline` and `sim figure2` as a user calls them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/command_line.hpp"

namespace flashbook {
namespace {

using nlohmann::json;
using test::check_refused;
using test::Run;
using test::Scratch;

json answer(const Scratch& scratch, const std::string& arguments) {
  const Run run = scratch.flashbook("sim " + arguments + " --json");
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  return json::parse(run.out);
}

json row_of(const json& answer, const std::string& key, const std::string& value,
            const std::string& machine = "") {
  for (const json& row : answer["rows"])
    if (row[key] == value && (machine.empty() || row["machine"] == machine)) return row;
  FAIL("no row " << value);
  return {};
}

/// Every line fits a terminal, and none ends in a space.
void check_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    });
    CHECK(width <= 80);
    CHECK((line.empty() || line.back() != ' '));
  }
}

std::string contents(const Scratch& scratch, const std::string& name) {
  std::ifstream in(scratch.path(name));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const json toy = {{"name", "toy"},
                  {"source", "made up"},
                  {"multiprocessors", 10},
                  {"sram_bytes", 1e5},
                  {"l2_bytes", 1000000},
                  {"dram_bytes_per_s", 1e12},
                  {"tensor_flops_per_s", 1e14},
                  {"fp32_flops_per_s", 1e13},
                  {"clock_hz", 1e9},
                  {"exp2_per_clock", 16}};

TEST_CASE("sim roofline: the five machines, their ridges, and what binds") {
  const Scratch scratch;
  const json out = answer(scratch, "roofline --n 256 --d 64");
  REQUIRE(out["machines"].size() == 5);
  CHECK(out["rows"].size() == 10);
  const double ridges[] = {153, 136, 295, 206, 281};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(std::round(out["machines"][i]["ridge_flops_per_byte"].get<double>()) == ridges[i]);
    CHECK(out["machines"][i]["source"].get<std::string>().size() > 20);
  }
  const json standard = row_of(out, "algorithm", "standard_forward", "H100");
  CHECK(standard["source"] == "executed, one head for all");
  CHECK(standard["binds"] == "DRAM");
  CHECK(standard["br"].is_null());
  CHECK(standard["flops_executed"] == 64ll * 4 * 256 * 256 * 64);
  CHECK(standard["seconds_dram"].get<double>() ==
        doctest::Approx(standard["dram_bytes"].get<double>() / 3.35e12));
  CHECK(standard["tflops_at_most"].get<double>() ==
        doctest::Approx(3.35 * standard["flops_per_dram_byte"].get<double>()));
}

TEST_CASE("sim roofline: executed and analytic runs give the same numbers, causal too") {
  const Scratch scratch;
  const std::string arguments =
      "roofline --machine h200 --n 200 --d 32 --causal --br 64 --bc 48 --algorithm "
      "fa2_forward,three_kernel_backward,standard_backward";
  json executed = answer(scratch, arguments), formula = answer(scratch, arguments + " --analytic");
  for (json* out : {&executed, &formula})
    for (json& row : (*out)["rows"]) row.erase("source");
  CHECK(executed == formula);
  CHECK(executed["rows"].size() == 3);
  CHECK(executed["rows"][0]["br"] == 64);
}

TEST_CASE("sim roofline: on Hopper exp2 takes as long as the products at d = 64, half at 128") {
  const Scratch scratch;
  for (const int d : {64, 128, 256}) {
    const json out = answer(scratch,
                            "roofline --machine H100 --analytic --n 16384 --br 128 --bc "
                            "16384 --algorithm fa2_forward --d " +
                                std::to_string(d));
    const json& row = out["rows"][0];
    const double ratio = row["seconds_exp2"].get<double>() / row["seconds_matmul"].get<double>();
    CHECK(ratio == doctest::Approx(64. / d).epsilon(1e-3));
  }
}

TEST_CASE("sim roofline: blocks are the best for each machine's SRAM unless they are given") {
  const Scratch scratch;
  const json out = answer(scratch, "roofline --n 2048 --d 64 --algorithm fa2_forward --analytic");
  for (const json& row : out["rows"])
    for (const json& machine : out["machines"])
      if (machine["name"] == row["machine"]) CHECK(row["peak_sram_bytes"] <= machine["sram_bytes"]);
  CHECK(row_of(out, "machine", "H100")["br"] > row_of(out, "machine", "RTX 4080")["br"]);
  const json small = answer(scratch, "roofline --n 2048 --d 64 --sram 65536 --analytic");
  for (const json& row : small["rows"])
    if (!row["br"].is_null()) CHECK(row["peak_sram_bytes"] <= 65536);
}

TEST_CASE("sim roofline: a machine of one's own, alone or in a list, beside a known one") {
  const Scratch scratch;
  scratch.save_text("toy.json", toy.dump());
  json second = toy;
  second["name"] = "twin";
  scratch.save_text("two.json", json::array({toy, second}).dump());
  const json one =
      answer(scratch, "roofline --machine toy.json --machine A100 --n 128 --dtype fp32");
  REQUIRE(one["machines"].size() == 2);
  CHECK(one["machines"][0]["name"] == "toy");
  CHECK(one["machines"][0]["sram_bytes"] == 100000);
  CHECK(one["machines"][0]["exp2_per_s"] == 1.6e11);
  CHECK(one["machines"][0]["ridge_flops_per_byte"] == 10);  // of fp32
  CHECK(answer(scratch, "roofline --machine two.json --n 128")["machines"].size() == 2);
  json cacheless = toy;
  cacheless.erase("l2_bytes");
  scratch.save_text("cacheless.json", cacheless.dump());
  CHECK(answer(scratch, "roofline --machine cacheless.json --n 128")["machines"][0]["l2_bytes"]
            .is_null());
}

/// A description with one thing wrong.
void check_refused_machine(const std::string& text, const std::vector<std::string>& parts) {
  const Scratch scratch;
  scratch.save_text("bad.json", text);
  std::vector<std::string> all = {"--machine bad.json"};
  all.insert(all.end(), parts.begin(), parts.end());
  check_refused(scratch, "sim roofline --machine bad.json", all);
}

void check_refused_value(const std::string& key, const json& value) {
  json bad = toy;
  bad[key] = value;
  check_refused_machine(bad.dump(), {key});
}

TEST_CASE("sim roofline: a malformed machine is refused in a sentence that names the key") {
  for (const auto& [key, _] : toy.items()) {
    json missing = toy;
    missing.erase(key);
    const bool may_be_unknown = key == "l2_bytes";
    if (!may_be_unknown) check_refused_machine(missing.dump(), {"\"" + key + "\" is missing"});
    check_refused_value(key, nullptr);
    check_refused_value(key, true);
    check_refused_value(key, json::array());
    if (toy[key].is_string()) {
      check_refused_value(key, "");
      check_refused_value(key, 3);
      continue;
    }
    check_refused_value(key, "3");
    if (!may_be_unknown) check_refused_value(key, 0);
    check_refused_value(key, -1);
  }
  check_refused_value("multiprocessors", 1.5);
  check_refused_value("l2_bytes", 1e300);
  check_refused_value("dram_bytes_per_s", 1e-300);
  check_refused_value("clock_hz", 1e300);
  for (const char* name : {"a\nb", "\x1b[31m", "a name that is too long for the table of machines"})
    check_refused_value("name", name);
  check_refused_value("colour", "green");
  const std::string whole = toy.dump();
  check_refused_machine(whole.substr(0, whole.size() - 1) + ",\"clock_hz\":1e9}",
                        {"clock_hz", "twice"});
  check_refused_machine(whole.substr(0, whole.size() - 2), {"JSON"});
  check_refused_machine(whole.substr(0, whole.size() - 1) + ",\"x\":NaN}", {"JSON"});
  check_refused_machine(whole.substr(0, whole.size() - 1) + ",\"x\":1e999}", {"finite"});
  check_refused_machine("", {"JSON"});
  check_refused_machine("[]", {"empty"});
  check_refused_machine("7", {"number"});
  check_refused_machine("[" + whole + ", 7]", {"number"});
  const Scratch scratch;
  scratch.save_text("twins.json", "[" + whole + "," + whole + "]");
  check_refused(scratch, "sim roofline --machine twins.json", {"--machine is toy", "its own"});
}

TEST_CASE("sim roofline: bad input is refused in one sentence") {
  const Scratch scratch;
  const auto refused = [&](const std::string& arguments, const std::vector<std::string>& parts) {
    check_refused(scratch, "sim roofline " + arguments, parts);
  };
  refused("--machine H900", {"--machine", "H900", "RTX 4080", "FILE.json"});
  refused("--machine nowhere.json", {"--machine nowhere.json"});
  refused("--machine H100 --machine h-100", {"--machine", "H100"});
  refused("--algorithm fa9", {"fa9", "fa2_forward"});
  refused("--algorithm fa2_forward --algorithm fa2_forward", {"--algorithm", "fa2_forward"});
  refused("--algorithm standard_forward,fa2_forward,fa1_forward,fused_backward", {"9 lines"});
  refused("--n 0", {"--n"});
  refused("--dtype fp8", {"--dtype"});
  refused("--br 4", {"--bc"});
  refused("--splits 2", {"--splits", "--algorithm"});
  refused("--splits 0 --algorithm split_kv_decode", {"--splits", "is 0"});
  refused("--splits 65537 --algorithm split_kv_decode", {"--splits", "1 to 65536"});
  refused("--csv both.txt --svg both.txt", {"--csv", "--svg", "both.txt"});
  refused("--includes-init", {"--includes-init", "--algorithm"});
  refused("--algorithm standard_forward --sram 9999", {"--sram", "--algorithm"});
  refused("--n 4000000", {"--analytic"});
  refused("--svg nowhere/x.svg", {"--svg"});
  refused("--sram 100", {"--sram"});
}

TEST_CASE("sim roofline and figure2: text for 80 columns, CSV and SVG") {
  const Scratch scratch;
  for (const std::string question : {"roofline --n 512", "figure2"}) {
    CAPTURE(question);
    const Run run = scratch.flashbook("sim " + question + " --csv out.csv --svg out.svg");
    CHECK(run.status == 0);
    CHECK(run.err.empty());
    check_lines(run.out);
    CHECK(contents(scratch, "out.svg").rfind("<svg", 0) == 0);
    const std::string csv = contents(scratch, "out.csv");
    const json out = answer(scratch, question);
    CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) ==
          out["rows"].size() + 1);
  }
  check_lines(scratch.flashbook("sim roofline --n 100000 --analytic --batch 64 --heads 128").out);
}

TEST_CASE("sim figure2: the paper's bytes, ours, and what each is") {
  const Scratch scratch;
  const json out = answer(scratch, "figure2");
  const auto gigabytes = [](const json& row) { return row["bytes"].get<double>() / 1e9; };
  const json standard = row_of(out, "name", "standard (Alg. 0, 3)");
  const json eager = row_of(out, "name", "eager framework"), flash = row_of(out, "name", "flash");
  CHECK(gigabytes(standard) == doctest::Approx(25.23).epsilon(5e-4));
  CHECK(standard["source"] == "executed");
  CHECK(std::abs(gigabytes(eager) / 40.3 - 1) <= 5e-3);
  CHECK(eager["source"] == "listed");
  CHECK(eager["paper_ms"] == 41.7);
  CHECK(gigabytes(flash) == doctest::Approx(4.43).epsilon(5e-4));
  CHECK(flash["source"] == "executed");
  CHECK(flash["b_c"] == 256);
  CHECK(flash["paper_ms"] == 7.3);

  std::int64_t listed = 0;
  std::vector<std::int64_t> middle;  // in Nd passes
  for (const json& row : out["rows"]) {
    const std::int64_t bytes = row["bytes"];
    if (row["panel"] == "passes") listed += bytes;
    if (row["panel"] == "middle") middle.push_back(bytes / (2ll * 1024 * 64 * 1024));
  }
  CHECK(listed == eager["bytes"]);
  CHECK(middle == std::vector<std::int64_t>{49, 25, 13, 7});
}

}  // namespace
}  // namespace flashbook
