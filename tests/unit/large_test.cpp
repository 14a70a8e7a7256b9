// The judge of large problems: right results pass, and each kind of wrong one fails.
#include "tests/conformance/large.hpp"

#include <doctest/doctest.h>
#include <omp.h>

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

void check_passes(const LargeRun& run) {
  const flashbook_problem& p = run.spec.problem.fields();
  CHECK(p.batch * p.heads_q * p.n_q * p.n_k > most_pairs);
  const Judgement right = run.judged();
  for (const std::string& fault : right.faults) FAIL_CHECK(fault);
  CHECK(right.outputs.size() == 5);
  CHECK(right.sampled.find("16 keys") != std::string::npos);
}

TEST_CASE("data are the same on one thread and on several, where elements share memory too") {
  const ProblemSpec spec =
      parse_problem("nq=3000 nk=2500 hq=3 d=40 causal strides_k=0,8,0 dtype=fp16");
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Data alone(spec, 5);
  omp_set_num_threads(4);
  for (int repetition = 0; repetition < 3; ++repetition)
    CHECK(Data(spec, 5).differences(alone).empty());
  omp_set_num_threads(threads);
  CHECK(Data(spec, 6).differences(alone) == "Q, K, V, dO");
}

TEST_CASE("rows are judged alike with dK and dV and without") {
  const ProblemSpec spec = parse_problem("nq=40 nk=300 hq=2 d=24 causal dtype=bf16");
  const Data data(spec, 5);
  const Arithmetic arithmetic = arithmetic_of(DType::bf16, io::Blocked("io.fa2").properties());
  const Expectation all = expect(spec.problem, data.inputs(), data.cotangents(), arithmetic),
                    rows = expect_rows(spec.problem, data.inputs(), data.cotangents(), arithmetic);
  for (Output output : {Output::O, Output::LSE, Output::dQ}) {
    CHECK(rows.exact[output] == all.exact[output]);
    CHECK(rows.tolerance[output] == all.tolerance[output]);
    CHECK(rows.rms_limit[output] == all.rms_limit[output]);
  }
  CHECK(all.rms_limit[Output::dQ]);
  CHECK(rows.exact[Output::dK].empty());
  CHECK(rows.directions.size() + 2 == all.directions.size());
}

TEST_CASE("rows of packed members: right ones pass, a hundredth too large fails") {
  const ProblemSpec spec = parse_problem(
      "nq=2200 nk=2200 hq=2 hkv=1 d=8 causal dtype=bf16 cu_q=0,703,703,1500,2200 "
      "cu_k=0,500,600,1500,2200");
  const Data data(spec, 3);
  Results results(spec.problem);
  const io::Blocked fa2("io.fa2");
  fa2.forward(spec.problem, data.inputs(), results.outputs());
  const auto judged = [&] {
    return judge_run(spec, 3, data, results, fa2.properties(), true, false);
  };
  const Judgement right = judged();
  for (const std::string& fault : right.faults) FAIL_CHECK(fault);
  CHECK(right.outputs.size() == 2);
  CHECK(right.sampled.find("rows") != std::string::npos);
  auto* lse = static_cast<float*>(results.outputs().lse);
  for (Index i = 0; i < 2 * 2200; ++i) lse[i] *= 1.01f;
  CHECK_FALSE(judged().faults.empty());
}

TEST_CASE("a sample of rows and keys: right results pass") {
  check_passes(LargeRun("b=2 hq=4 hkv=2 nq=700 nk=800 d=16 dlse dtype=fp32"));
  check_passes(LargeRun("hq=2 nq=1200 nk=1900 d=16 causal align=top-left layout=bhnd dtype=bf16"));
}

TEST_CASE("each output that is wrong fails; what the backward pass read must be right, too") {
  LargeRun run("nq=2100 nk=2048 d=16 causal dtype=fp16");  // the first rows see nothing
  check_passes(run);
  const Gradients gradients = run.results.gradients();
  const Outputs outputs = run.results.outputs();
  for (void* output : {outputs.o, gradients.q, gradients.k, gradients.v}) {
    const bool is_of_keys = output == gradients.k || output == gradients.v;
    const Index elements = (is_of_keys ? 2048 : 2100) * 16;
    run.scale(output, elements, 1.0625);
    CHECK_FALSE(run.judged().faults.empty());
    run.scale(output, elements, 1 / 1.0625);
  }
  auto* lse = static_cast<float*>(outputs.lse);
  for (Index i = 0; i < 2100; ++i) lse[i] += 0.125f;
  CHECK_FALSE(judge_run(run.spec, 3, run.data, run.results, {}, false, true).faults.empty());
}

}  // namespace
}  // namespace flashbook
