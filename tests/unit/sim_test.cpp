// `sim traffic` as a user calls it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

using flashbook::test::Run;
using flashbook::test::Scratch;

namespace {

nlohmann::json traffic(const std::string& arguments) {
  const Run run = Scratch().flashbook("sim traffic --json " + arguments);
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  return nlohmann::json::parse(run.out);
}

void check_refused(const std::string& arguments, const std::string& naming) {
  flashbook::test::check_refused(Scratch(), "sim traffic " + arguments, {naming});
}

}  // namespace

TEST_CASE("sim traffic: elements are per query head, bytes of the whole problem") {
  const auto out = traffic(
      "--algorithm fa2_forward --n 10 --d 5 --br 3 --bc 4 --causal --batch 2 --heads 3 --dtype "
      "fp16");
  CHECK(out["executed"] == true);
  CHECK(out["visited_tiles"] == 9);
  CHECK(out["matrix_reads"] == 10 * 5 + 2 * 5 * 32);
  CHECK(out["matrix_writes"] == 10 * 5);
  CHECK(out["vector_writes"] == 10);
  CHECK(out["bytes_read"] == 6 * 2 * (10 * 5 + 2 * 5 * 32));
  CHECK(out["bytes_written"] == 6 * (2 * 10 * 5 + 4 * 10));
  CHECK(out["tensors"]["K"]["reads"] == 5 * 32);
  CHECK(out["includes_init"] == false);
}

TEST_CASE("sim traffic: executed and analytic runs give the same integers") {
  for (const std::string algorithm : {"fa2_forward", "three_kernel_backward", "standard_forward",
                                      "standard_forward_lse", "standard_backward"})
    for (const std::string causal : {"", " --causal"}) {
      const std::string blocks =
          algorithm.starts_with("standard") ? "" : " --sram 9000 --dtype bf16";
      const std::string arguments =
          "--algorithm " + algorithm + " --n 100 --d 16 --heads 2" + blocks + causal;
      auto executed = traffic(arguments), formula = traffic(arguments + " --analytic");
      CHECK(executed["source"] == "executed");
      CHECK(formula["source"] == "closed form");
      for (auto* out : {&executed, &formula}) {
        out->erase("source");
        out->erase("executed");
      }
      CHECK(executed == formula);
    }
}

TEST_CASE("sim traffic: standard attention counts all N², causal or not") {
  const auto dense = traffic("--algorithm standard_forward --n 64 --d 8");
  const auto causal = traffic("--algorithm standard_forward --n 64 --d 8 --causal");
  CHECK(dense["matrix_reads"] == 3 * 64 * 8 + 2 * 64 * 64);
  CHECK(dense["matrix_reads"] == causal["matrix_reads"]);
}

TEST_CASE("sim traffic: a table for people, in the units of the rest of the program") {
  const Run run = Scratch().flashbook(
      "sim traffic --algorithm fa2_forward --n 1000 --d 64 --br 64 --bc 64 --analytic");
  CHECK(run.status == 0);
  CHECK(run.out.find(" \n") == std::string::npos);
  CHECK(run.out.find("KiB") == std::string::npos);
  CHECK(run.out.find("all matrices") != std::string::npos);
  CHECK(run.out.find("written 260 kB") != std::string::npos);  // 4 · 65 · 1000 bytes
}

TEST_CASE("sim traffic: atomic additions have a row, and belong to what is moved") {
  const Run run = Scratch().flashbook(
      "sim traffic --algorithm fused_backward --n 1024 --d 64 --br 128 --bc 128 --analytic");
  // Nd · T_c of them; 5Nd + 2Nd·T_c read, 4Nd written and the additions twice, against 8Nd.
  CHECK(run.out.find("atomic additions          524288   524288") != std::string::npos);
  CHECK(run.out.find("moved 5.12 times that") != std::string::npos);
  CHECK(Scratch()
            .flashbook("sim traffic --algorithm fa2_backward --n 64 --d 8 --analytic")
            .out.find("atomic") == std::string::npos);
}

TEST_CASE("sim traffic: bad input is refused in one sentence") {
  check_refused("--algorithm fa9 --n 8 --d 8", "three_kernel_backward");
  check_refused("--algorithm fa2_forward --n -8 --d 8", "--n");
  check_refused("--algorithm fa2_forward --n nan --d 8", "--n");
  check_refused("--algorithm fa2_forward --n 8 --d 0", "--d");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --br 0 --bc 4", "--br");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --br 4", "--bc");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --br 4 --bc 4 --sram 9999", "--sram");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --sram 139", "140 bytes");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --dtype fp64", "fp64");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --dtype fp8", "--dtype");
  check_refused("--algorithm standard_forward --n 8 --d 8 --br 4 --bc 4", "--br");
  check_refused("--algorithm fa2_forward --n 1000000 --d 64", "--analytic");
  check_refused("--algorithm split_kv_decode --n 10 --d 3 --splits 9000000000000000000 --analytic",
                "--splits");
  check_refused("--algorithm split_kv_decode --n 4000000000 --d 3 --splits 65536 --analytic",
                "--n is 4000000000");
  check_refused("--algorithm fa2_forward --n 16384 --d 64 --br 1 --bc 1", "the tiles");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --sram 1125899906842625", "--sram");
  check_refused("--algorithm fa2_forward --n 8 --d 8 --csv no/such/folder.csv", "--csv");
  check_refused("--algorithm fa2_forward --n 4000000000000 --d 64 --analytic", "--n");
}
