// Cheap judges of one mutant, which stop at the first thing that is wrong:
//
//   mutant_judge random N        every algorithm of sim/io on N random problems: values against
//                                the oracle's, counts against the closed forms
//   mutant_judge cases N [FILE]  every implementation on one in N of the suite's cases (or of those
//                                that FILE names)
//
// Exit status 0: nothing was wrong; 1: something was, and a line says what.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <set>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/unit/io_runs.hpp"

using namespace flashbook;
using testing::Random;

namespace {

bool same_counts(const io::Report& a, const io::Report& b) {
  return a.tensors == b.tensors && a.visited_tiles == b.visited_tiles &&
         a.flops_executed == b.flops_executed && a.peak_sram_bytes == b.peak_sram_bytes;
}

/// What is wrong with a run on a random problem; empty: nothing. A backward algorithm is given the
/// oracle's O and LSE.
std::string fault_of(Random& random, const io::Algorithm& algorithm) {
  const AttentionProblem problem = testing::random_problem(random, 16);
  testing::Tensors want(problem, random);
  testing::compute(Oracle(), problem, want);
  testing::Tensors got = want;
  got.clear_outputs();
  if (algorithm.backward) got.o = want.o;

  const io::Schedule schedule = testing::random_schedule(random, algorithm, 8);
  if (algorithm.backward || !algorithm.writes_lse) got.lse = want.lse;
  const io::Report report = io::run(algorithm, problem, testing::run_tensors(got), {schedule});
  const std::string strayed = testing::difference(problem, got, want, algorithm.backward);
  if (!strayed.empty()) return strayed + " of " + testing::describe(problem);
  if (!same_counts(report, io::closed_form(algorithm, problem, schedule)))
    return "counts of " + testing::describe(problem);
  return "";
}

std::string judge_random(std::size_t problems) {
  Random random(1);
  for (std::size_t n = 0; n < problems; ++n)
    for (const io::Algorithm& algorithm : io::algorithms())
      if (const std::string fault = fault_of(random, algorithm); !fault.empty())
        return std::string(algorithm.name) + ": " + fault;
  return "";
}

std::vector<std::unique_ptr<Implementation>> contestants() {
  std::vector<std::unique_ptr<Implementation>> all;
  all.push_back(std::make_unique<io::Blocked>("io.fa2", io::Schedule{{7, 5}}));
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  for (const io::BlockedPair& pair : io::blocked_pairs()) {
    all.push_back(std::make_unique<io::Blocked>(pair.name, pair.schedule));
    const bool splits = io::find_algorithm(pair.forward).takes.splits;
    all.push_back(std::make_unique<io::Blocked>(pair.name, io::Schedule{{16, 48}, splits ? 3 : 1}));
  }
  return all;
}

std::set<std::string> lines_of(const char* path) {
  std::ifstream in(path);
  if (!in) throw InputError(std::string("cannot read ") + path + ": pass a file of case names");
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

/// Neighbours in the list of cases are alike: taken in steps, the first few already differ.
std::string judge_cases(std::size_t one_in, const std::set<std::string>& wanted) {
  const auto& cases = conformance::all_cases();
  const auto implementations = contestants();
  constexpr std::size_t step = 1013;  // a prime
  for (std::size_t n = 0; n < cases.size(); n += one_in) {
    const conformance::Case& each = cases[n * step % cases.size()];
    if (!wanted.empty() && wanted.count(each.name) == 0) continue;
    conformance::Exercise exercise(each, 1);
    for (const auto& implementation : implementations) {
      const conformance::CaseReport report = exercise.verify(*implementation);
      if (report.status == conformance::Status::failed)
        return each.name + ": " + report.implementation + ": " + report.reasons.front();
    }
  }
  return "";
}

/// The N of "random N" and "cases N".
std::size_t number_of(const char* text) {
  const long n = std::strtol(text, nullptr, 10);
  if (n < 1) throw InputError(std::string("N is ") + text + ": pass a number from 1 up");
  return static_cast<std::size_t>(n);
}

std::string judge(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which == "random" && argc == 3) return judge_random(number_of(argv[2]));
  if (which != "cases" || argc < 3 || argc > 4)
    throw InputError("usage: mutant_judge random N | cases N [FILE]");
  return judge_cases(number_of(argv[2]), argc == 4 ? lines_of(argv[3]) : std::set<std::string>());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string fault = judge(argc, argv);
  std::printf("%s\n", fault.empty() ? "nothing is wrong" : fault.c_str());
  return fault.empty() ? 0 : 1;
} catch (const InputError& error) {
  std::fprintf(stderr, "mutant_judge: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::printf("it threw: %s\n", error.what());
  return 1;
}
