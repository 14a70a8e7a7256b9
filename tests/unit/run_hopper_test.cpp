// `flashbook run` of rungs for Hopper GPUs: what TMA, mbarriers and wgmma are counted and drawn as.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/command_line.hpp"

using flashbook::test::Run;
using flashbook::test::Scratch;
using flashbook::test::widest_line;
using Json = nlohmann::json;

namespace {

Json answer(const std::string& arguments) {
  return Json::parse(flashbook::test::json_of(arguments));
}

struct Rung {
  std::string name;
  int B_r;
};

/// Instructions of wgmma that a product of this depth takes: 16 are multiplied at a time.
int wgmma_of(int depth) {
  return depth / 16;
}

/// Bytes into shared memory and products of a dense run, beside what io.fa2 moves and visits in the
/// same blocks. The simulator knows nothing of TMA or of kernels.
void check_against_simulator(const Rung& rung, int n, int d, int heads) {
  CAPTURE(rung.name);
  CAPTURE(n);
  CAPTURE(d);
  const int B_c = d <= 128 ? 128 : 64;
  const std::string problem = " --n " + std::to_string(n) + " --d " + std::to_string(d) +
                              " --heads " + std::to_string(heads) + " --dtype bf16";
  const Json counts = answer("run " + rung.name + problem)["passes"][0]["totals"];
  const Json simulated = answer("sim traffic --algorithm fa2_forward" + problem + " --br " +
                                std::to_string(rung.B_r) + " --bc " + std::to_string(B_c));
  CHECK(simulated["executed"] == true);
  const int visited = simulated["visited_tiles"].get<int>(), row_tiles = (n - 1) / rung.B_r + 1;
  const int row_bytes = 2 * d;
  CHECK(counts["tma_load_bytes"] == heads * row_bytes * (row_tiles * rung.B_r + visited * 2 * B_c));
  CHECK(counts["tma_l2_bytes"] == simulated["bytes_read"]);
  CHECK(counts["wgmma"] ==
        visited * heads * (rung.B_r / 16) * (wgmma_of(d) + wgmma_of(B_c)));  // a warp has 16 rows
  CHECK(counts["mma"] == 0);
  CHECK(counts["async_copies"] == 0);
}

}  // namespace

TEST_CASE("run: a Hopper rung's copies and products by line, in a table of their own") {
  const Run run = Scratch().flashbook("run warp_specialised --n 130 --d 40");
  CHECK(run.status == 0);
  CHECK(widest_line(run.out) <= 80);
  for (const char* part : {"TMA", "wgmma", "regs", "tma_load(", "increase_regist"}) {
    CAPTURE(part);
    CHECK(run.out.find(part) != std::string::npos);
  }
  CHECK(run.out.find("L2: ") != std::string::npos);  // boxes reach beyond the tensor
  const Run whole = Scratch().flashbook("run warp_specialised --n 128 --d 64");
  CHECK(whole.out.find("L2: ") == std::string::npos);
  CHECK(Scratch().flashbook("run tensor_core --n 16 --d 16").out.find("TMA") == std::string::npos);
}

TEST_CASE("run --json: mbarriers and setmaxnreg, in instructions of a warp") {
  constexpr int n = 300, tiles = 3;  // of keys, for each block
  const auto totals = [](const std::string& rung) {
    return answer("run " + rung + " --n " + std::to_string(n))["passes"][0]["totals"];
  };
  const Json alone = totals("tma_wgmma"), together = totals("warp_specialised");
  constexpr int blocks = (n + 63) / 64, waits = 1 + 2 * tiles;  // for Q, each K and each V
  CHECK(alone["mbarrier_waits"] == blocks * 4 * waits);         // by every warp
  CHECK(alone["mbarrier_arrivals"] == blocks * waits);          // by the one that copies
  CHECK(alone["setmaxnreg"] == 0);
  constexpr int pairs = (n + 127) / 128;
  CHECK(together["mbarrier_waits"] == pairs * (2 * tiles + 8 * waits));
  CHECK(together["mbarrier_arrivals"] == pairs * (waits + 2 * 2 * tiles));
  CHECK(together["setmaxnreg"] == pairs * 12);
}

TEST_CASE("run: TMA brings what the IO simulator says, to the byte") {
  for (const Rung& rung : {Rung{"tma_wgmma", 64}, Rung{"warp_specialised", 128},
                           Rung{"gemm_softmax_overlap", 128}, Rung{"warpgroup_ping_pong", 128},
                           Rung{"no_running_maximum", 128}, Rung{"wgmma_q_in_registers", 128}}) {
    check_against_simulator(rung, 300, 64, 2);
    check_against_simulator(rung, 257, 128, 1);
    check_against_simulator(rung, 128, 256, 1);
  }
}

TEST_CASE("run --ring: stages by name, at most 80 columns, for every rung that has a ring") {
  for (const char* rung : {"tma_wgmma", "warp_specialised", "gemm_softmax_overlap",
                           "warpgroup_ping_pong", "no_running_maximum", "wgmma_q_in_registers"}) {
    CAPTURE(rung);
    const Run run =
        Scratch().flashbook(std::string("run ") + rung + " --n 1536 --ring --svg x.svg");
    CHECK(run.status == 0);
    CHECK(widest_line(run.out) <= 80);
    for (const char* part : {"fills Q", "fills K", "multiplies V", "~11", "No race"}) {
      CAPTURE(part);
      CHECK(run.out.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("run --ring: one warpgroup, a stage of K and one of V, two tiles of each") {
  const Run run = Scratch().flashbook("run tma_wgmma --n 256 --ring");
  CHECK(run.status == 0);
  CHECK(run.out ==
        "tma_wgmma, block 0\n"
        "\n"
        "     copies  warpgroup 0     K   V\n"
        "  1          fills Q         .   .\n"
        "  2          fills K         ~0  .\n"
        "  3          fills V         ~0  ~0\n"
        "  4          waits: Q full   ~0  ~0\n"
        "  5  Q full                  ~0  ~0\n"
        "  6          waits: K full   ~0  ~0\n"
        "  7  K full                  0   ~0\n"
        "  8          multiplies K    0*  ~0\n"
        "  9          is done with K  0   ~0\n"
        " 10          fills K         ~1  ~0\n"
        " 11          waits: V full   ~1  ~0\n"
        " 12  V full                  ~1  0\n"
        " 13          multiplies V    ~1  0*\n"
        " 14          is done with V  ~1  0\n"
        " 15          fills V         ~1  ~1\n"
        " 16          waits: K full   ~1  ~1\n"
        " 17  K full                  1   ~1\n"
        " 18          multiplies K    1*  ~1\n"
        " 19          is done with K  1   ~1\n"
        " 20          waits: V full   1   ~1\n"
        " 21  V full                  1   1\n"
        " 22          multiplies V    1   1*\n"
        " 23          is done with V  1   1\n"
        "Stages: ~2 tile 2 is being copied, 2 it is there, 2* it is in use, . given back.\n"
        "No race, no uninitialised read, nothing out of bounds.\n");
}
