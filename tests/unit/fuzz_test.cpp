// The fuzzer: what it draws is a problem, what it finds is small and found again, and it finds
// every fault that is planted here.
#include "tests/conformance/fuzz/fuzz.hpp"

#include <doctest/doctest.h>
#include <omp.h>

#include <cstring>
#include <set>

#include "tests/conformance/fuzz/shrink.hpp"
#include "tests/conformance/support.hpp"
#include "tests/unit/faulty.hpp"
#include "tests/unit/smoke_cases.hpp"
#include "walkthrough/contestants.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;
using namespace flashbook::test;
using P = flashbook_problem;

#ifdef FLASHBOOK_SANITIZED
constexpr std::uint64_t affordable = 150;
#else
constexpr std::uint64_t affordable = 1500;
#endif

Contestants only(const Faulty::Fault& fault) {
  return [fault](Draws&) {
    std::vector<std::unique_ptr<Implementation>> one;
    one.push_back(std::make_unique<Faulty>(fault));
    return one;
  };
}

/// f(problem, element, token, head) → what becomes of the element of O.
template <class F>
Faulty::Fault changed_O(F f) {
  return [f](const Call& call) {
    if (call.gradients) return;
    change(call.problem, call.outputs.o, call.problem->o, shape(call.problem, Output::O),
           [&](double x, Index, Index token, Index head, Index) {
             return f(call.problem, x, token, head);
           });
  };
}

template <class Holds>
Faulty::Fault only_if(Holds holds, const Faulty::Fault& fault) {
  return [holds, fault](const Call& call) {
    if (holds(call.problem.fields())) fault(call);
  };
}

Faulty::Fault forward_only(const Faulty::Fault& fault) {
  return [fault](const Call& call) {
    if (!call.gradients) fault(call);
  };
}

bool sees_nothing(const AttentionProblem& problem, Index row) {
  const Member m = problem.member(0);
  for (Index j = 0; j < m.n_k; ++j)
    if (problem.visible(m, row, j)) return false;
  return true;
}

bool has_window(const P& p) {
  return p.window_left != unbounded || p.window_right != unbounded;
}

bool is_plain(const P& p) {
  return !p.packed && !p.causal && !p.has_bias && !p.alibi && !has_window(p);
}

void shift_lse(const Call& call) {
  if (call.gradients || call.problem.dtype() == DType::fp64) return;
  auto* lse = static_cast<float*>(call.outputs.lse);
  for (Index i = 0; i < call.problem.lse_size(); ++i) lse[i] += 0.01f;
}

struct PlantedFault {
  const char* name;
  Faulty::Fault fault;
  const char* needs;  ///< a word that the smallest problem must hold
};

/// Each wrong in one corner of the contract only.
std::vector<PlantedFault> planted_faults() {
  return {
      {"an empty row is not 0",
       changed_O([](const AttentionProblem& problem, double x, Index row, Index) {
         return !problem->packed && sees_nothing(problem, row) ? 1e-3 : x;
       }),
       "nk=0"},
      {"a slack row is not 0",
       changed_O([](const AttentionProblem& problem, double x, Index token, Index) {
         return token >= problem.first_slack_q() ? 1e-3 : x;
       }),
       "cu_q"},
      {"the one key of the last tile of 4 is lost",
       forward_only(only_if([](const P& p) { return is_plain(p) && p.n_k % 4 == 1 && p.n_k > 4; },
                            as_if([](P& p) { --p.n_k; }))),
       "nk=5"},
      {"grouped heads all read kv head 0",
       only_if([](const P& p) { return p.heads_q > p.heads_kv; },
               as_if([](P& p) { p.k.head = 0; })),
       "hkv=2"},
      {"Δ is 1 % off",
       only_if([](const P& p) { return p.dtype != FLASHBOOK_FP64; }, wrong_delta(0.99)), "d=1"},
      {"the last head of O repeats another's sign",
       changed_O([](const AttentionProblem& problem, double x, Index token, Index head) {
         return head == 1 && head + 1 == problem->heads_q && token + 1 == problem->n_q ? -x : x;
       }),
       "hq=2"},
      {"the LSE is wrong under a window", only_if(has_window, shift_lse), "window"},
      {"dQ of a negative scale has the other sign",
       only_if([](const P& p) { return p.scale < 0; }, scaled(Output::dQ, -1)), "scale"},
      {"the soft-cap is 1 % off", as_if([](P& p) { p.softcap *= 1.01; }), "softcap"},
      {"slopes of each member are those of the first",
       only_if([](const P& p) { return p.alibi == FLASHBOOK_ALIBI_BH; },
               as_if([](P& p) { p.alibi = FLASHBOOK_ALIBI_H; })),
       "alibi=bh"},
      {"NaN comes out as 0",
       changed_O([](const AttentionProblem&, double x, Index, Index) { return x == x ? x : 0; }),
       "plant"},
      {"dLSE is left out where there are sinks",
       only_if([](const P& p) { return p.has_sinks; }, as_if([](P& p) { p.has_dlse = 0; })),
       "sinks dlse"},
  };
}

bool is_small(const P& p) {
  return p.batch <= 2 && p.members <= 2 && p.heads_q <= 4 && p.n_q <= 3 && p.n_k <= 5 && p.d <= 2 &&
         p.d_v <= 2;
}

/// What stands between the quotes of --problem, and after --seed.
std::pair<std::string, std::uint64_t> problem_and_seed(const std::string& command) {
  const std::size_t first = command.find('"') + 1, last = command.find('"', first);
  return {command.substr(first, last - first), std::stoull(command.substr(last + 9))};
}

}  // namespace

TEST_CASE("every implementation passes what the fuzzer draws") {
  for (const std::uint64_t seed : {7, 8}) {
    const FuzzReport report = fuzz(contestants(""), seed, {affordable});
    const std::string command = report.failure ? report.failure->shrunk.command : "";
    CAPTURE(command);
    CHECK_FALSE(report.failure);
    CHECK(report.problems == affordable);
    CHECK(report.runs[0] > affordable);
    CHECK(report.runs[1] == 0);
  }
}

TEST_CASE("planted faults: found, made small, and shown again by the line that is printed") {
  for (const PlantedFault& planted : planted_faults()) {
    CAPTURE(planted.name);
    const FuzzReport report = fuzz(only(planted.fault), 1, {20'000});
    REQUIRE(report.failure);
    CHECK(report.seconds < 60);
    const CaseReport& shrunk = report.failure->shrunk;
    const auto [words, seed] = problem_and_seed(shrunk.command);
    const ProblemSpec spec = parse_problem(words);
    const std::string line = words;
    CAPTURE(line);
    CHECK(is_small(spec.problem.fields()));
    CHECK(line.find(planted.needs) != std::string::npos);
    const CaseReport again = verify(Faulty(planted.fault), {"again", spec}, seed);
    CHECK(again.status == Status::failed);
    CHECK(again.reasons == shrunk.reasons);
    CHECK(verify(Oracle(), {"right", spec}, seed).status == Status::passed);
  }
}

TEST_CASE("a seed gives the same failure whatever the number of threads; another seed another") {
  const auto fault = only_if([](const P& p) { return p.softcap > 0; }, scaled(Output::dV, 1.1));
  const int threads = omp_get_max_threads();
  std::set<std::string> commands, others;
  for (const int count : {1, 2, 3, 2}) {
    omp_set_num_threads(count);
    commands.insert(fuzz(only(fault), 3, {5000}).failure->found.command);
  }
  omp_set_num_threads(threads);
  CHECK(commands.size() == 1);
  for (const std::uint64_t seed : {4, 5, 6})
    others.insert(fuzz(only(fault), seed, {5000}).failure->found.command);
  CHECK(others.size() == 3);
}

TEST_CASE("a statistical gate that fails on one set of data alone is chance, and is counted") {
  const auto rare = [](std::uint64_t divisor) {
    return [divisor](const Call& call) {  // of the data, so that runs repeat
      if (!call.gradients || call.problem.dtype() != DType::bf16 || call.problem->n_k == 0) return;
      std::uint16_t bits;
      std::memcpy(&bits, call.inputs.v, sizeof bits);
      if (bits % divisor == 0) scaled(Output::dQ, 1.006)(call);
    };
  };
  const FuzzReport once = fuzz(only(rare(16)), 1, {6000}), always = fuzz(only(rare(1)), 1, {6000});
  CHECK_FALSE(once.failure);
  CHECK(once.chances > 0);
  CHECK(always.failure);
}

TEST_CASE("it ends with the time, and says how far it came") {
  std::uint64_t last = 0;
  const FuzzReport report = fuzz(contestants("oracle"), 1, {.seconds = 0.35},
                                 [&](std::uint64_t problems, double) { last = problems; });
  CHECK(report.seconds >= 0.35);
  CHECK(report.problems > 0);
  CHECK(last > 0);
  CHECK(report.runs[0] == report.problems);
  CHECK(fuzz(contestants("oracle"), 1, {0}).problems == 0);
}

TEST_CASE("what implementations throw before they can be judged reaches the caller") {
  const Contestants none = [](Draws&) -> std::vector<std::unique_ptr<Implementation>> {
    throw std::runtime_error("no");
  };
  CHECK_THROWS_WITH(fuzz(none, 1, {10}), "no");
}

TEST_CASE("every drawn problem is what its line says, to the last field") {
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const ProblemSpec spec = spec_of(fuzz_problem(2, number).draft);
    const std::string line = format_problem(spec);
    CAPTURE(line);
    const ProblemSpec read = parse_problem(line);
    CHECK(format_problem(read) == line);
    CHECK(std::memcmp(&read.problem.fields(), &spec.problem.fields(), sizeof(P)) == 0);
    CHECK(read.problem.cu_seqlens_q() == spec.problem.cu_seqlens_q());
    CHECK(read.problem.cu_seqlens_k() == spec.problem.cu_seqlens_k());
    CHECK(read.recipe == spec.recipe);
  }
}

TEST_CASE("the draws cover the contract") {
  std::set<std::string_view> options;
  std::set<Values> values;
  std::set<conformance::Planted> planted;
  std::set<Placement> placements;
  std::set<BiasPlacement> bias_placements;
  int no_queries = 0, no_keys = 0, no_batch = 0, no_members = 0, slack = 0, large = 0;
  for (std::uint64_t number = 0; number < 3000; ++number) {
    const Draft draft = fuzz_problem(2, number).draft;
    const AttentionProblem problem = spec_of(draft).problem;
    for (const std::string_view option : options_of(problem)) options.insert(option);
    values.insert(draft.recipe.values);
    planted.insert(draft.recipe.planted);
    for (const Placement placement : draft.placements) placements.insert(placement);
    bias_placements.insert(draft.bias_placement);
    no_queries += problem->n_q == 0;
    no_keys += problem->n_k == 0;
    no_batch += problem->batch == 0;
    no_members += problem->packed && problem->members == 0;
    slack += problem->packed && problem.first_slack_q() < problem->n_q;
    large += problem->n_q > 16 && problem->n_k > 16;
  }
  CHECK(options.size() == 18);  // 4 dtypes and 14 options
  CHECK(values.size() == 16);
  CHECK(planted.size() == 8);
  CHECK(placements.size() == 7);
  CHECK(bias_placements.size() == 4);
  for (const int count : {no_queries, no_keys, no_batch, no_members, slack, large})
    CHECK(count >= 5);
}

TEST_CASE("shrinking leaves what a failure needs, and nothing else") {
  Draft large = fuzz_problem(2, 0).draft;
  large.batch = 1;
  large.members = {{{3, 9}, {5, 7}, {0, 4}}};
  large.causal = large.sinks = large.dlse = true;
  large.heads_kv = 2, large.group = 3, large.d = 9;
  large.bias.emplace(std::array{true, true, true, true});
  large.recipe = {Values::sharp, CotangentValues::ones, BiasValues::hidden,
                  conformance::Planted::none};
  const auto needs = [](const Draft& draft) {
    const AttentionProblem problem = spec_of(draft).problem;
    return problem->n_k >= 6 && draft.sinks && draft.d > 2;
  };
  REQUIRE(needs(large));
  CHECK(format_problem(spec_of(shrink(large, needs))) == "nq=0 nk=6 d=3 dv=1 sinks");
}
