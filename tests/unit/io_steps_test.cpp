// Steps: the numbers a run shows are those of the equations, and what its steps moved is the
// report.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "cpu_reference/standard.hpp"
#include "io_runs.hpp"
#include "sim/io/online_softmax.hpp"
#include "sim/io/steps.hpp"

using namespace flashbook;
using namespace flashbook::io;
using flashbook::testing::chance;
using flashbook::testing::describe;
using flashbook::testing::pick;
using flashbook::testing::Random;
using flashbook::testing::random_problem;
using flashbook::testing::random_schedule;
using flashbook::testing::run_tensors;
using flashbook::testing::Storage;

namespace {

using Data = flashbook::testing::Tensors;

constexpr double tight = 1e-5;  // of fp32 terms of order one

struct Stepped {
  Report report;
  std::vector<Step> steps;
};

Stepped step(const Algorithm& algorithm, const AttentionProblem& problem, Data& tensors,
             const Schedule& schedule) {
  StepRecorder recorder;
  RunOptions options = {schedule};
  options.listener = &recorder;
  const Report report = run(algorithm, problem, run_tensors(tensors), options);
  return {report, recorder.steps()};
}

/// Two batch entries, grouped heads, ragged tiles.
AttentionProblem example(bool causal) {
  flashbook_problem p = dense_problem(2, 4, 2, 7, 9, 3, 2);
  p.causal = causal;
  return AttentionProblem(p);
}

void for_each(bool backward, const std::function<void(const Algorithm&)>& check) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.backward != backward || !algorithm.takes.blocks) continue;
    CAPTURE(std::string(algorithm.name));
    check(algorithm);
  }
}

/// The numbers of one tile's problem in double, from the tensors alone.
struct Exact {
  const AttentionProblem& problem;
  const Data& t;
  const ScoreTile& at;

  Index query(Index i) const {
    return (at.member.batch * problem->n_q + at.rows.first + i) * problem->heads_q + at.head;
  }
  Index key(Index j) const {
    return (at.member.batch * problem->n_k + j) * problem->heads_kv + problem.kv_head(at.head);
  }
  static double dot(const Storage& a, Index row_a, const Storage& b, Index row_b, Index channels) {
    double sum = 0;
    for (Index c = 0; c < channels; ++c)
      sum += static_cast<double>(a[row_a * channels + c]) * b[row_b * channels + c];
    return sum;
  }
  /// Of row i of the tile and key j of the member; −∞ if hidden.
  double score(Index i, Index j) const {
    if (!problem.visible(at.member, at.rows.first + i, j)) return io::minus_infinity;
    return problem->scale * dot(t.q, query(i), t.k, key(j), problem->d);
  }
  double lse(Index i) const {
    return t.lse[(at.member.batch * problem->heads_q + at.head) * problem->n_q + at.rows.first + i];
  }
  double delta(Index i) const { return dot(t.d_o, query(i), t.o, query(i), problem->d_v); }
};

bool near(double a, double b) {
  return a == b || std::abs(a - b) <= tight * std::max(1., std::abs(b));
}

const Matrix<float>& value(const Step& step, const char* name) {
  CAPTURE(name);
  const Matrix<float>* found = step.find(name);
  REQUIRE(found != nullptr);
  return *found;
}

/// The last of the values called so.
const Matrix<float>& last_value(const Step& step, const char* name) {
  const Step::Shown* found = nullptr;
  for (const Step::Shown& shown : step.shown)
    if (shown.name() == name) found = &shown;
  REQUIRE(found != nullptr);
  return found->values;
}

void check_scores(const Step& step, const Exact& exact) {
  const Matrix<float>& S = value(step, "S");
  REQUIRE(S.rows() == exact.at.rows.size());
  REQUIRE(S.cols() == exact.at.keys.size());
  for (Index i = 0; i < S.rows(); ++i)
    for (Index j = 0; j < S.cols(); ++j)
      CHECK(near(S(i, j), exact.score(i, exact.at.keys.first + j)));
}

/// m = max(m_old, rowmax S);  α = exp(m_old − m);  P = exp(S − m).
void check_update(const Step& step) {
  const Matrix<float>&S = value(step, "S"), &P = value(step, "P"), &m = value(step, "m");
  const Matrix<float>&m_old = value(step, "m_old"), &alpha = value(step, "α");
  for (Index i = 0; i < S.rows(); ++i) {
    CHECK(m(i) == std::max(m_old(i), S.row(i).maxCoeff()));
    const double shift = std::isinf(m(i)) ? 0 : m(i);
    CHECK(near(alpha(i), std::exp(m_old(i) - shift)));
    for (Index j = 0; j < S.cols(); ++j) CHECK(near(P(i, j), std::exp(S(i, j) - shift)));
  }
}

/// After each tile, O / ℓ and m + ln ℓ are attention over the keys of the tiles so far. FA1 divides
/// by ℓ within the step.
void check_state(const Step& step, const Exact& exact, const std::vector<Range>& keys,
                 bool is_divided) {
  const Matrix<float>&O = last_value(step, "O"), &m = value(step, "m"), &l = value(step, "ℓ");
  for (Index i = 0; i < O.rows(); ++i) {
    double sum = 0;
    std::vector<double> o(static_cast<std::size_t>(O.cols()));
    for (const Range& range : keys)
      for (Index j = range.first; j < range.last; ++j) {
        const double weight = std::exp(exact.score(i, j));
        sum += weight;
        for (Index c = 0; c < O.cols(); ++c)
          o[static_cast<std::size_t>(c)] +=
              weight * static_cast<double>(exact.t.v[exact.key(j) * O.cols() + c]);
      }
    if (sum == 0) continue;
    CHECK(near(m(i) + std::log(l(i)), std::log(sum)));
    for (Index c = 0; c < O.cols(); ++c)
      CHECK(near(O(i, c) / (is_divided ? 1 : l(i)), o[static_cast<std::size_t>(c)] / sum));
  }
}

}  // namespace

TEST_CASE(
    "steps: what they moved, visited and held is what the report counts, for every algorithm") {
  Random random(71);
  for (int n = 0; n < 300; ++n) {
    const AttentionProblem problem = random_problem(random);
    Data tensors(problem, random);
    CAPTURE(describe(problem));
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(std::string(algorithm.name));
      const auto [report, steps] =
          step(algorithm, problem, tensors, random_schedule(random, algorithm, 8));
      std::map<std::string, Counts> moved, expected;
      Index visited = 0, held = 0;
      for (const Step& each : steps) {
        for (const Step::Move& move : each.moves) moved[move.tensor] += move.counts();
        visited += each.tile && algorithm.takes.blocks;
        held = std::max(held, each.resident_bytes);
        Index bytes = 0;
        for (const ResidentTile& tile : each.resident) bytes += tile.bytes;
        CHECK(bytes == each.resident_bytes);
      }
      for (const TensorTraffic& tensor : report.tensors) expected[tensor.name] += tensor.counts;
      CHECK(moved == expected);
      CHECK(visited == report.visited_tiles);
      CHECK(held == report.peak_sram_bytes);
    }
  }
}

TEST_CASE("steps: who watches does not change the result, bit for bit") {
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(std::string(algorithm.name));
    Random random(39);
    Data alone(example(true), random);
    run(find_algorithm("fa2_forward"), example(true), run_tensors(alone), {{{4, 3}}});
    Data watched = alone;
    RunOptions options = {{{4, 3}}};
    options.deterministic = true;
    run(algorithm, example(true), run_tensors(alone), options);
    step(algorithm, example(true), watched, options);
    CHECK(flashbook::testing::same_bits(example(true), alone, watched, algorithm.backward));
  }
}

TEST_CASE("steps: tiles come in the algorithm's own order, and what the mask hides does not come") {
  flashbook_problem p = dense_problem(1, 1, 1, 4, 4, 2, 2);
  using Order = std::vector<std::pair<Index, Index>>;  // first row, first key
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    p.causal = causal;
    const AttentionProblem problem(p);
    Order rows_outside = {{0, 0}, {0, 2}, {2, 0}, {2, 2}};
    Order keys_outside = {{0, 0}, {2, 0}, {0, 2}, {2, 2}};
    if (causal) {
      rows_outside.erase(rows_outside.begin() + 1);
      keys_outside.erase(keys_outside.begin() + 2);
    }
    for_each(false, [&](const Algorithm& algorithm) {
      Random random(18);
      Data tensors(problem, random);
      Order seen;
      for (const Step& each : step(algorithm, problem, tensors, {{2, 2}}).steps)
        if (each.tile) seen.emplace_back(each.tile->rows.first, each.tile->keys.first);
      CHECK(seen == (algorithm.streams.keys ? rows_outside : keys_outside));
    });
  }
}

TEST_CASE("steps: scores 3, 5, 10, a key a tile") {
  flashbook_problem p = dense_problem(1, 1, 1, 1, 3, 1, 1);
  p.scale = 1;
  const AttentionProblem problem(p);
  Random random(37);
  Data t(problem, random);
  const float scores[] = {3, 5, 10}, values[] = {2, -1, 4};
  t.q.set(0, 1);
  for (Index j = 0; j < 3; ++j) {
    t.k.set(j, scores[j]);
    t.v.set(j, values[j]);
  }
  const auto steps = step(find_algorithm("fa2_forward"), problem, t, {{1, 1}}).steps;
  const double alpha[] = {0, std::exp(-2.), std::exp(-5.)};
  double l = 0, o = 0;
  REQUIRE(steps.size() == 4);
  for (std::size_t j = 0; j < 3; ++j) {
    CAPTURE(j);
    l = alpha[j] * l + 1;
    o = alpha[j] * o + values[j];
    CHECK(value(steps[j], "S")(0) == scores[j]);
    CHECK(value(steps[j], "P")(0) == 1);  // each score is the largest so far
    CHECK(value(steps[j], "m")(0) == scores[j]);
    CHECK(value(steps[j], "α")(0) == doctest::Approx(alpha[j]));
    CHECK(value(steps[j], "ℓ")(0) == doctest::Approx(l));
    CHECK(value(steps[j], "O")(0) == doctest::Approx(o));
  }
  CHECK(value(steps[3], "O")(0) == t.o[0]);
  CHECK(value(steps[3], "LSE")(0) == t.lse[0]);
}

TEST_CASE("steps forward: S, m, α and P by their equations; O and LSE are attention so far") {
  for (const bool causal : {false, true})
    for_each(false, [&](const Algorithm& algorithm) {
      CAPTURE(causal);
      const AttentionProblem problem = example(causal);
      Random random(23);
      Data t(problem, random);
      const Schedule schedule = {{3, 4}, algorithm.takes.splits ? 2 : 1};
      // Keys seen so far: by a row tile or, where keys are split, by one task.
      std::map<std::array<Index, 4>, std::vector<Range>> seen;
      for (const Step& each : step(algorithm, problem, t, schedule).steps) {
        if (!each.tile) continue;
        const Exact exact = {problem, t, *each.tile};
        check_scores(each, exact);
        check_update(each);
        auto& keys = seen[{exact.at.member.index, exact.at.head, exact.at.rows.first,
                           algorithm.takes.splits ? each.task : 0}];
        keys.push_back(exact.at.keys);
        check_state(each, exact, keys, algorithm.streams.sums);
      }
      CHECK_FALSE(seen.empty());
    });
}

TEST_CASE("steps forward: a row tile's last O, divided by ℓ, is the oracle's") {
  for_each(false, [&](const Algorithm& algorithm) {
    const AttentionProblem problem = example(true);
    Random random(29);
    Data t(problem, random);
    Data want = t;
    Oracle().forward(problem, want.inputs(), want.outputs());
    std::map<std::array<Index, 3>, Step> last;
    Index rows = 0;
    for (const Step& each : step(algorithm, problem, t, {{3, 4}}).steps)
      if (each.tile) last[{each.tile->member.index, each.tile->head, each.tile->rows.first}] = each;
    for (const auto& [at, each] : last) {
      const Exact exact = {problem, want, *each.tile};
      const Matrix<float>&O = last_value(each, "O"), &l = value(each, "ℓ");
      for (Index i = 0; i < O.rows(); ++i, ++rows)
        for (Index c = 0; c < O.cols(); ++c)
          CHECK(near(O(i, c) / (algorithm.streams.sums ? 1 : l(i)),
                     want.o[exact.query(i) * O.cols() + c]));
    }
    CHECK(rows == problem->batch * problem->heads_q * problem->n_q);
  });
}

TEST_CASE("steps backward: S, P, dP, Δ and dS by their equations; what is added adds up") {
  for (const bool causal : {false, true})
    for_each(true, [&](const Algorithm& algorithm) {
      CAPTURE(causal);
      const AttentionProblem problem = example(causal);
      Random random(31);
      Data t(problem, random);
      run(find_algorithm("fa2_forward"), problem, run_tensors(t), {});
      Matrix<double> dQ = Matrix<double>::Zero(t.d_q.size() / problem->d, problem->d);
      Matrix<double> dK = Matrix<double>::Zero(t.d_k.size() / problem->d, problem->d);
      Matrix<double> dV = Matrix<double>::Zero(t.d_v.size() / problem->d_v, problem->d_v);
      for (const Step& each : step(algorithm, problem, t, {{3, 4}}).steps) {
        if (!each.tile) continue;
        const Exact exact = {problem, t, *each.tile};
        check_scores(each, exact);
        const Matrix<float>&S = value(each, "S"), &P = value(each, "P"), &dP = value(each, "dP");
        const Matrix<float>&dS = value(each, "dS"), &delta = value(each, "Δ");
        for (Index i = 0; i < S.rows(); ++i) {
          CHECK(near(delta(i), exact.delta(i)));
          CHECK(near(value(each, "LSE")(i), exact.lse(i)));
          for (Index j = 0; j < S.cols(); ++j) {
            const Index key = exact.key(exact.at.keys.first + j);
            CHECK(near(P(i, j), std::exp(exact.score(i, exact.at.keys.first + j) - exact.lse(i))));
            CHECK(near(dP(i, j), Exact::dot(t.d_o, exact.query(i), t.v, key, problem->d_v)));
            CHECK(near(dS(i, j), P(i, j) * (dP(i, j) - delta(i))));
          }
        }
        for (const Step::Shown& shown : each.shown) {
          if (shown.equation.find("+=") == std::string::npos) continue;
          Matrix<double>& sum = shown.name() == "dQ" ? dQ : shown.name() == "dK" ? dK : dV;
          for (Index r = 0; r < shown.values.rows(); ++r)
            sum.row(shown.name() == "dQ" ? exact.query(r) : exact.key(exact.at.keys.first + r)) +=
                shown.values.row(r).cast<double>();
        }
      }
      for (Index i = 0; i < dQ.size(); ++i) CHECK(near(problem->scale * dQ.data()[i], t.d_q[i]));
      for (Index i = 0; i < dK.size(); ++i) CHECK(near(problem->scale * dK.data()[i], t.d_k[i]));
      for (Index i = 0; i < dV.size(); ++i) CHECK(near(dV.data()[i], t.d_v[i]));
    });
}

TEST_CASE("steps of standard attention: whole matrices, the last of them its outputs") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 5, 6, 3, 2));
  Random random(41);
  Data t(problem, random);
  const auto forward = step(find_algorithm("standard_forward_lse"), problem, t, {}).steps;
  REQUIRE(forward.size() == 3);
  const Exact exact = {problem, t, *forward[0].tile};
  check_scores(forward[0], exact);
  const Matrix<float>&P = value(forward[1], "P"), &O = value(forward[2], "O");
  for (Index i = 0; i < 5; ++i) {
    CHECK(near(value(forward[1], "LSE")(i), t.lse[i]));
    for (Index j = 0; j < 6; ++j) CHECK(near(P(i, j), std::exp(exact.score(i, j) - t.lse[i])));
  }
  for (Index i = 0; i < O.size(); ++i) CHECK(O.data()[i] == t.o[i]);

  std::map<std::string, const Matrix<float>*> last;
  const auto backward = step(find_algorithm("standard_backward"), problem, t, {}).steps;
  for (const Step& each : backward)
    for (const Step::Shown& shown : each.shown) last[shown.name()] = &shown.values;
  const std::pair<const char*, const Storage*> gradients[] = {
      {"dQ", &t.d_q}, {"dK", &t.d_k}, {"dV", &t.d_v}};
  for (const auto& gradient : gradients) {
    const std::string name = gradient.first;
    const Storage& output = *gradient.second;
    CAPTURE(name);
    REQUIRE(last.count(name) == 1);
    for (Index i = 0; i < output.size(); ++i) CHECK(last[name]->data()[i] == output[i]);
  }
}
