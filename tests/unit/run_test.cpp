// `flashbook run`, and the kernels in `verify`, `list` and `fuzz`, as a user calls them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

using flashbook::test::check_refused;
using flashbook::test::Run;
using flashbook::test::Scratch;
using flashbook::test::widest_line;
using Json = nlohmann::json;

namespace {

Json answer(const std::string& arguments) {
  return Json::parse(flashbook::test::json_of(arguments));
}

std::vector<std::string> outputs_of(const Json& run) {
  std::vector<std::string> names;
  for (const Json& output : run["outputs"]) {
    CHECK(output["passed"] == true);
    names.push_back(output["output"]);
  }
  return names;
}

bool has_gpu() {
  return Scratch().flashbook("list").out.find("GPU: none") == std::string::npos;
}

}  // namespace

TEST_CASE("run: errors, the table by line with its source, and that nothing was found") {
  const Run run = Scratch().flashbook("run one_pass --n 33 --d 16 --causal");
  CHECK(run.status == 0);
  CHECK(run.err.empty());  // progress is for terminals
  CHECK(widest_line(run.out) <= 80);
  CHECK(run.out.find(" \n") == std::string::npos);
  for (const char* part : {"On the emulator: ", "LSE", "passed", "forward/one_pass", "sync_threads",
                           "one_pass.cuh:", "total", "predicts no GPU's", "No race"}) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
}

TEST_CASE("run: a wide table names its wasteful lines below it") {
  const Run run = Scratch().flashbook("run tensor_core --n 33 --d 32");
  CHECK(run.status == 0);
  CHECK(widest_line(run.out) <= 80);
  const bool has_waste =
      run.out.find("!\n") != std::string::npos || run.out.find("! ") != std::string::npos;
  CHECK(has_waste == (run.out.find("\n! mma.cuh:") != std::string::npos));
}

TEST_CASE("run --json: lines add up to the totals, and name their source") {
  const Json run = answer("run tensor_core --nq 40 --nk 50 --d 32 --dtype bf16");
  CHECK(run["passed"] == true);
  CHECK(outputs_of(run) == std::vector<std::string>{"O", "LSE"});
  const Json& pass = run["passes"][0];
  CHECK(pass["kernel"] == "tensor_core");
  CHECK(pass["findings"].empty());
  CHECK(pass["seconds"] > 0);
  std::int64_t sectors = 0, mma = 0;
  for (const Json& line : pass["lines"]) {
    sectors += line["global_load"]["sectors"].get<std::int64_t>();
    mma += line["mma"].get<std::int64_t>();
    CHECK(line["file"].get<std::string>().rfind("cuda/", 0) == 0);
    CHECK_FALSE(line["source"].get<std::string>().empty());
  }
  CHECK(sectors == pass["totals"]["global_load"]["sectors"]);
  CHECK(mma == pass["totals"]["mma"]);
  CHECK(mma > 0);
}

TEST_CASE("run: a backward rung, both passes, every order of warps alike") {
  const std::string problem = " --n 20 --d 16 --heads 4 --kv-heads 2 --dtype fp32";
  CHECK(outputs_of(answer("run three_kernel" + problem)) ==
        std::vector<std::string>{"dQ", "dK", "dV"});
  CHECK(answer("run backward/standard" + problem)["passes"][0]["pass"] == "backward");
  const Json both = answer("run one_pass --pass both --seeds 3" + problem);
  CHECK(outputs_of(both) == std::vector<std::string>{"O", "LSE", "dQ", "dK", "dV"});
  const Json once = answer("run one_pass" + problem);
  CHECK(both["passes"][0]["totals"] == once["passes"][0]["totals"]);  // of the first order
}

TEST_CASE("run: no query, no key, no sequence") {
  for (const char* kernel : {"standard", "fa1", "one_pass", "tensor_core"})
    for (const char* sizes : {"--n 0", "--nq 0", "--nk 0", "--batch 0"}) {
      CAPTURE(kernel);
      CAPTURE(sizes);
      const Run run =
          Scratch().flashbook(std::string("run ") + kernel + " --pass both --d 16 " + sizes);
      CHECK(run.err.empty());
      CHECK(run.status == 0);
      CHECK(run.out.find("FAILED") == std::string::npos);
      CHECK(run.out.find("nan") == std::string::npos);
    }
}

TEST_CASE("run refuses what it cannot do, in one sentence") {
  const Scratch s;
  check_refused(s, "run two_pass", {"two_pass", "forward/one_pass", "backward/three_kernel"});
  check_refused(s, "run one_pass --pass sideways", {"--pass", "sideways", "backward"});
  check_refused(s, "run backward/three_kernel --pass forward", {"--pass", "backward ladder"});
  check_refused(s, "run three_kernel --pass forward", {"--pass", "backward ladder"});
  check_refused(s, "run one_pass --on tpu", {"tpu", "cpu", "gpu"});
  check_refused(s, "run one_pass --n -1", {"--n is -1", "0 to"});
  check_refused(s, "run one_pass --heads 0", {"--heads is 0", "1 to"});
  check_refused(s, "run /one_pass", {"/one_pass", "forward/one_pass"});
  check_refused(s, "run one_pass --d 257", {"--d is 257", "256"});
  check_refused(s, "run one_pass --heads 3 --kv-heads 2", {"H_q is 3"});
  check_refused(s, "run one_pass --dtype fp64", {"--dtype", "fp64", "bf16"});
  check_refused(s, "run one_pass --causal=left", {"--causal", "left", "top-left"});
  check_refused(s, "run tensor_core --dtype fp32", {"forward/tensor_core", "fp32", "bf16"});
  check_refused(s, "run one_pass --seeds 0", {"--seeds is 0"});
  check_refused(s, "run one_pass --seed -1", {"--seed is '-1'", "0 to 1000000000000000000;"});
  check_refused(s, "run one_pass --n many", {"--n is 'many': pass a number"});
  check_refused(s, "run one_pass --n", {"--n has no value: give it one"});
  check_refused(s, "run one_pass --n 1 --n 2", {"--n is given 2 times: give it once"});
  check_refused(s, "run ''", {"argument 2, after 'run', is empty"});
  check_refused(s, "run one_pass --ring", {"--ring", "one_pass", "warp_specialised"});
  check_refused(s, "run tma_wgmma --n 64 --ring", {"--ring", "more keys than a tile"});
  check_refused(s, "run tma_wgmma --ring --on gpu", {"--on is gpu", "pass --on cpu"});
  check_refused(s, "run tma_wgmma --ring --json", {"--json", "--ring"});
  check_refused(s, "run tma_wgmma --svg x.svg", {"--svg", "--ring"});
}

TEST_CASE("timing: five ways to time a forward kernel, none for what it does not take") {
  const Json timing = answer("timing tensor_core --problem 'nq=20 nk=30 d=16 dtype=fp16 causal'");
  CHECK(timing["kernel"] == "tensor_core");
  REQUIRE(timing["ways"].size() == 5);
  for (const Json& way : timing["ways"]) CHECK(way["seconds"] > 0);
  const Run run = Scratch().flashbook("timing one_pass --problem 'nq=8 d=16'");
  CHECK(run.status == 0);
  CHECK(widest_line(run.out) <= 80);
  const Scratch s;
  check_refused(s, "timing two_pass", {"two_pass", "forward/one_pass"});
  check_refused(s, "timing three_kernel", {"forward/three_kernel", "forward/one_pass"});
  check_refused(s, "timing backward/three_kernel", {"backward/three_kernel", "forward kernels"});
  check_refused(s, "timing tensor_core --problem 'nq=8 dtype=fp32'", {"fp32", "bf16"});
  check_refused(s, "timing one_pass --problem 'nq=x'", {"nq", "x"});
  check_refused(s, "timing one_pass --seed 1000000000000000001", {"from 0 to 1000000000000000000"});
}

TEST_CASE("without a GPU --on gpu says so, with status 2") {
  if (has_gpu()) return;
  const Scratch s;
  for (const char* command :
       {"run one_pass --on gpu", "timing one_pass --on gpu", "verify --on gpu",
        "verify --impl cuda.one_pass --on gpu", "verify --impl cuda.one_pass@gpu"})
    check_refused(s, command, {"--on cpu"});
}

TEST_CASE("verify: kernels by name and by machine") {
  const Json one = answer("verify --impl cuda.one_pass --case 'sanitize/one/*'");
  REQUIRE(one.size() == 3);
  for (const Json& report : one) {
    CHECK(report["implementation"] == "cuda.one_pass@cpu");
    CHECK(report["status"] == "passed");
    CHECK(report["outputs"].size() == 5);
  }
  const Json all = answer("verify --on cpu --case 'sanitize/one/*'");
  CHECK(all.size() > one.size());
  const Scratch s;
  check_refused(s, "verify --impl cuda.one_pass@cpu --on gpu", {"cuda.one_pass@cpu", "--on"});
  check_refused(s, "verify --impl io.fa2 --on cpu", {"io.fa2", "cuda.one_pass"});
  check_refused(s, "verify --impl cuda.two_pass", {"cuda.two_pass", "cuda.one_pass"});
}

TEST_CASE("list asks about an option in a dtype that the implementation takes") {
  for (const Json& entry : answer("list")) {
    if (entry["name"] != "cuda.tensor_core@cpu") continue;
    CHECK(entry["options"]["fp32"]["forward"]["supported"] == false);
    for (const char* option : {"fp16", "grouped heads", "d ≠ d_v", "causal, top-left", "scale ≤ 0",
                               "gradient of the LSE"}) {
      CAPTURE(option);
      CHECK(entry["options"][option]["forward"]["supported"] == true);
      CHECK(entry["options"][option]["backward"]["supported"] == true);
    }
    return;
  }
  FAIL("cuda.tensor_core@cpu is not listed");
}

TEST_CASE("fuzz and list know the kernels") {
  const Json report = answer("fuzz --impl cuda.one_pass@cpu --problems 40");
  CHECK(report["passed"] > 0);
  CHECK(report["failed"] == 0);
  const Run list = Scratch().flashbook("list");
  CHECK(list.status == 0);
  CHECK(widest_line(list.out) <= 80);
  for (const char* part : {"cuda.tensor_core@cpu", "GPU: ", "fp32: this kernel uses 16-bit"}) {
    CAPTURE(part);
    CHECK(list.out.find(part) != std::string::npos);
  }
}
