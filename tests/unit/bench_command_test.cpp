// `flashbook bench` and `flashbook receipts`, as a user calls them where there is no GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;
using flashbook::test::squeezed;
using flashbook::test::widest_line;
using Json = nlohmann::json;

namespace {

bool has_gpu() {
  return Scratch().flashbook("list").out.find("GPU: none") == std::string::npos;
}

const std::string tiny = "bench --on cpu --rounds 3 --shape \"n=32,64 d=16 b=1 h=1 causal\" ";

}  // namespace

TEST_CASE("bench --on cpu: C++ has rates, kernels the time of their emulation, all are judged") {
  const Scratch scratch;
  const Run run = scratch.flashbook(tiny + "--json --csv rows.csv --svg rates.svg");
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());  // progress is for terminals
  const Json rows = Json::parse(run.out);
  for (const Json& row : rows) {
    const std::string impl = row["impl"];
    CAPTURE(impl);
    const bool emulated = impl.find("@cpu") != std::string::npos;
    if (row["ms"].is_null()) {
      CHECK(row["note"] != "");
      continue;
    }
    CHECK(row["tflops"].is_null() == emulated);
    CHECK(row["error_margin"] <= 1);
    CHECK(row["spread"] >= 0);
    CHECK(row["gemm_tflops"] > 0);
  }
  const auto count = [&](const std::string& impl, const char* pass, int n) {
    return std::count_if(rows.begin(), rows.end(), [&](const Json& row) {
      return row["impl"] == impl && row["pass"] == pass && row["seqlen"] == n;
    });
  };
  for (const int n : {32, 64})
    for (const char* pass : {"forward", "backward"}) {
      for (const char* impl : {"oracle", "standard", "io.fa2", "cuda.standard@cpu"})
        CHECK(count(impl, pass, n) == 1);
      const bool is_backward = pass[0] == 'b';
      CHECK(count("cuda.one_pass@cpu", pass, n) == (is_backward ? 0 : 1));
      CHECK(count("cuda.three_kernel@cpu", pass, n) == (is_backward ? 1 : 0));
    }
  CHECK(scratch.listing() == std::vector<std::string>{"rates.svg", "rows.csv"});
  CHECK(scratch.shell("head -c 100 rows.csv").out.find("impl,pass,dtype,head_dim") == 0);
  CHECK(
      scratch.shell("python3 -c \"import csv; print(len(list(csv.DictReader(open('rows.csv')))))\"")
          .out == std::to_string(rows.size()) + "\n");
}

TEST_CASE("bench: names, with and without cuda. and the machine; the table") {
  const Run run = Scratch().flashbook(tiny + "--impl one_pass,io.fa2 --pass forward --dtype fp16");
  CHECK(run.status == 0);
  for (const char* part : {"cuda.one_pass@cpu", "io.fa2", "GEMM", "GFLOP/s", "predict no GPU's"}) {
    CAPTURE(part);
    CHECK(squeezed(run.out).find(part) != std::string::npos);
  }
  CHECK(widest_line(run.out) <= 80);
  CHECK(run.out.find("standard") == std::string::npos);
  CHECK(run.out.find("backward") == std::string::npos);
}

TEST_CASE("bench: a backward kernel by its own name, or by that of a pair") {
  for (const char* name : {"three_kernel", "cuda.three_kernel@cpu", "tensor_core"}) {
    CAPTURE(std::string(name));
    const Run run = Scratch().flashbook(tiny + "--pass backward --json --impl " + name);
    REQUIRE(run.status == 0);
    const Json rows = Json::parse(run.out);
    REQUIRE(rows.size() == 2);
    for (const Json& row : rows) {
      CHECK(row["impl"] == "cuda.three_kernel@cpu");
      CHECK(row["ms"] > 0);
    }
  }
}

TEST_CASE("bench: what cannot be asked for") {
  const Scratch scratch;
  check_refused(scratch, "bench --on cpu --shape n=64", {"--shape", "n=64", "d="});
  check_refused(scratch, "bench --on cpu --shape \"n=64 d=999\"", {"--shape", "d=999", "256"});
  check_refused(scratch, "bench --on cpu --pass sideways", {"--pass", "sideways", "backward"});
  check_refused(scratch, "bench --on cpu --dtype fp64", {"--dtype", "fp64", "bf16"});
  check_refused(scratch, "bench --on tpu", {"tpu", "cpu"});
  check_refused(scratch, tiny + "--impl nobody", {"--impl", "nobody", "list", "three_kernel"});
  check_refused(scratch, tiny + "--impl io.fa2,nobody", {"--impl has 'nobody'", "io.fa2"});
  check_refused(scratch, tiny + "--impl torch.flash", {"torch.flash", "--peers"});
  check_refused(scratch, tiny + "--peers", {"--peers", "GPU"});
  check_refused(scratch, tiny + "--receipt", {"--receipt", "--on gpu"});
  check_refused(scratch, tiny + "--csv none/rows.csv", {"--csv", "none/rows.csv"});
  check_refused(scratch, "bench --rounds 2", {"--rounds", "2"});
  check_refused(scratch, "verify --on cpu --receipt", {"--receipt", "--on gpu"});
  check_refused(scratch, "verify --on gpu --receipt --case 'size/*'", {"--receipt", "--case"});
  if (!has_gpu()) check_refused(scratch, "bench --on gpu", {"--on cpu"});
}

TEST_CASE("receipts: what is missing fails unless it is pending") {
  const Scratch scratch;
  const Run none = scratch.flashbook("receipts --folder . --json");
  CHECK(none.status == 1);
  std::string pending;
  for (const Json& line : Json::parse(none.out)) {
    CHECK(line["state"] == "missing");
    CHECK(line["ok"] == false);
    pending += line["kernel"].get<std::string>() + ": no GPU yet\n";
  }
  CHECK(pending.find("forward/one_pass") != std::string::npos);
  CHECK(pending.find("backward/three_kernel") != std::string::npos);
  scratch.save_text("pending.txt", pending);
  const Run all = scratch.flashbook("receipts --folder .");
  CHECK(all.status == 0);
  CHECK(squeezed(all.out).find("pending: no GPU yet") != std::string::npos);
  scratch.save_text("pending.txt", pending.substr(pending.find('\n') + 1));
  CHECK(scratch.flashbook("receipts --folder .").status == 1);
  scratch.save_text("pending.txt", pending + "forward/none: no GPU yet\n");
  check_refused(scratch, "receipts --folder .", {"pending.txt", "forward/none"});
  check_refused(scratch, "receipts --folder nowhere", {"--folder is 'nowhere'"});
}
