// Runs random problems through one algorithm and passes if the checks named on the command line,
// and no others, fail:  driver ALGORITHM none|values|counts|both
#include <cstdio>
#include <exception>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "tests/unit/io_runs.hpp"

using namespace flashbook;
using namespace flashbook::io;
using testing::Random;

namespace {

constexpr int problems = 500;

/// What a check found first, over all problems: empty if it found nothing.
struct Faults {
  std::string values, counts;
};

bool same_counts(const Report& a, const Report& b) {
  return a.tensors == b.tensors && a.visited_tiles == b.visited_tiles &&
         a.flops_executed == b.flops_executed && a.peak_sram_bytes == b.peak_sram_bytes;
}

/// A backward algorithm is given the oracle's O and LSE.
void check(Random& random, const Algorithm& algorithm, Faults& faults) {
  const AttentionProblem problem = testing::random_problem(random, 16);
  testing::Tensors want(problem, random);
  testing::compute(Oracle(), problem, want);
  testing::Tensors got = want;
  got.clear_outputs();
  if (algorithm.backward) got.o = want.o;

  const Schedule schedule = testing::random_schedule(random, algorithm, 8);
  if (algorithm.backward || !algorithm.writes_lse) got.lse = want.lse;
  const Report report = run(algorithm, problem, testing::run_tensors(got), {schedule});
  const std::string strayed = testing::difference(problem, got, want, algorithm.backward);
  if (faults.values.empty() && !strayed.empty())
    faults.values = strayed + " of " + testing::describe(problem);
  if (faults.counts.empty() && !same_counts(report, closed_form(algorithm, problem, schedule)))
    faults.counts = testing::describe(problem);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw InputError("usage: driver ALGORITHM none|values|counts|both");
  const Algorithm& algorithm = find_algorithm(argv[1]);
  const std::string expected = argv[2];
  Random random(1);
  Faults faults;
  for (int n = 0; n < problems; ++n) check(random, algorithm, faults);
  std::printf("values: %s\ncounts: %s\n", faults.values.c_str(), faults.counts.c_str());

  const bool values = !faults.values.empty(), counts = !faults.counts.empty();
  const std::string failed = values ? (counts ? "both" : "values") : counts ? "counts" : "none";
  std::printf("failed: %s, expected: %s\n", failed.c_str(), expected.c_str());
  return failed == expected ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
