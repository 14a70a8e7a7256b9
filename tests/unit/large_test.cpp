// The judge of large problems: right results pass, and each kind of wrong one fails.
#include "tests/conformance/large.hpp"

#include <doctest/doctest.h>

#include "sim/io/implementations.hpp"

namespace flashbook {
namespace {

using namespace conformance;

/// io.fa2 on a problem of just more than most_pairs, in both passes.
struct LargeRun {
  explicit LargeRun(const std::string& words)
      : spec(parse_problem(words)), data(spec, 3), results(spec.problem) {
    const io::Blocked fa2("io.fa2");
    fa2.forward(spec.problem, data.inputs(), results.outputs());
    fa2.backward(spec.problem, data.inputs(), results.outputs(), data.cotangents(),
                 results.gradients());
  }

  Judgement judged() const {
    return judge_run(spec, 3, data, results, io::Blocked("io.fa2").properties(), true, true);
  }
  /// Every element of an output, `factor` times what it was.
  void scale(void* output, Index elements, double factor) {
    with_element_type(spec.problem.dtype(), [&](auto element) {
      auto* x = static_cast<decltype(element)*>(output);
      for (Index i = 0; i < elements; ++i)
        x[i] =
            static_cast<decltype(element)>(static_cast<float>(x[i]) * static_cast<float>(factor));
    });
  }

  ProblemSpec spec;
  Data data;
  Results results;
};

void check_whole_and_sampled(const std::string& words) {
  CAPTURE(words);
  LargeRun run(words);
  const flashbook_problem& p = run.spec.problem.fields();
  CHECK(p.batch * p.heads_q * p.n_q * p.n_k > most_pairs);
  const Judgement right = run.judged();
  for (const std::string& fault : right.faults) FAIL_CHECK(fault);
  CHECK(right.outputs.size() == 5);
  CHECK(right.sampled.find("16 keys") != std::string::npos);

  const Index k_elements = p.batch * p.n_k * p.heads_kv * p.d,
              q_elements = p.batch * p.n_q * p.heads_q * p.d;
  for (void* output : {run.results.gradients().k, run.results.gradients().v,
                       run.results.gradients().q, run.results.outputs().o}) {
    const bool is_of_keys =
        output == run.results.gradients().k || output == run.results.gradients().v;
    const Index elements = is_of_keys ? k_elements : q_elements;
    run.scale(output, elements, 1.0625);
    CHECK_FALSE(run.judged().faults.empty());
    run.scale(output, elements, 1 / 1.0625);
  }
}

TEST_CASE("a sample of rows and keys: right results pass, wrong ones fail") {
  check_whole_and_sampled("nq=2100 nk=2048 d=16 causal dtype=fp16");
  check_whole_and_sampled("b=2 hq=4 hkv=2 nq=700 nk=800 d=16 dlse dtype=fp32");
  check_whole_and_sampled("hq=2 nq=1200 nk=1900 d=16 causal align=top-left layout=bhnd dtype=bf16");
}

TEST_CASE("what the backward pass read must be right, too; every element must be written") {
  LargeRun run("nq=2100 nk=2048 d=16 dtype=fp16");
  auto* lse = static_cast<float*>(run.results.outputs().lse);
  for (Index i = 0; i < 2100; ++i) lse[i] += 0.125f;
  CHECK_FALSE(judge_run(run.spec, 3, run.data, run.results, {}, false, true).faults.empty());

  LargeRun other("nq=2100 nk=2048 d=16 dtype=fp16");
  const Results untouched(other.spec.problem);
  CHECK_FALSE(judge_run(other.spec, 3, other.data, untouched, {}, true, false).faults.empty());
}

}  // namespace
}  // namespace flashbook
