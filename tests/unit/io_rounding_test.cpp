// Operands of products are rounded to the input type, as a GPU would hold them: each test is made
// so that a sum of products is exactly 0 with rounded factors, and not otherwise.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "cpu_reference/standard.hpp"
#include "io_runs.hpp"

using namespace flashbook;
using flashbook::testing::compute;
using flashbook::testing::Random;
using flashbook::testing::Tensors;

namespace {

float rounded(DType dtype, double x) {
  return with_element_type(
      dtype, [x](auto element) { return static_cast<float>(round_to<decltype(element)>(x)); });
}

AttentionProblem problem_of(DType dtype, Index n_q, Index n_k, Index d, double scale) {
  flashbook_problem p = dense_problem(1, 1, 1, n_q, n_k, d, 1);
  p.dtype = static_cast<std::int32_t>(dtype);
  p.scale = scale;
  return AttentionProblem(p);
}

/// Every blocked implementation, a head in one tile.
std::vector<std::unique_ptr<Implementation>> blocked() {
  std::vector<std::unique_ptr<Implementation>> all;
  for (const io::BlockedPair& pair : io::blocked_pairs())
    all.push_back(std::make_unique<io::Blocked>(pair.name, io::Schedule{{4, 4}}));
  return all;
}

std::vector<std::unique_ptr<Implementation>> materialised() {
  std::vector<std::unique_ptr<Implementation>> all;
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  return all;
}

void set(testing::Storage& tensor, std::initializer_list<float> values) {
  Index i = 0;
  for (const float value : values) tensor.set(i++, value);
}

}  // namespace

TEST_CASE("O: P is rounded before it is multiplied by V") {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const AttentionProblem problem = problem_of(dtype, 1, 2, 1, 1);
    Random random(1);
    Tensors t(problem, random);
    const float score = rounded(dtype, -0.7);
    set(t.q, {1});
    set(t.k, {0, score});
    const double e = std::exp(static_cast<double>(score));
    const auto check = [&](const auto& implementations, double P_0, double P_1) {
      set(t.v, {-rounded(dtype, P_1), rounded(dtype, P_0)});
      for (const auto& implementation : implementations) {
        const std::string name = implementation->name();
        CAPTURE(name);
        compute(*implementation, problem, t);
        CHECK(t.o[0] == 0);
      }
    };
    check(blocked(), 1, e);  // not yet divided by ℓ
    check(materialised(), 1 / (1 + e), e / (1 + e));
  }
}

TEST_CASE("dV: P is rounded before it is multiplied by dO") {
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const AttentionProblem problem = problem_of(dtype, 2, 2, 1, 1);
    Random random(1);
    Tensors t(problem, random);
    const float scores[] = {rounded(dtype, 0.7), rounded(dtype, 0.3)};  // of key 0; 0 of key 1
    set(t.q, {scores[0], scores[1]});
    set(t.k, {1, 0});
    const auto P_of_key_0 = [&](int row) {
      return rounded(dtype, 1 / (1 + std::exp(-static_cast<double>(scores[row]))));
    };
    set(t.d_o, {P_of_key_0(1), -P_of_key_0(0)});
    const auto check = [&](const auto& implementations) {
      for (const auto& implementation : implementations) {
        const std::string name = implementation->name();
        CAPTURE(name);
        if (compute(*implementation, problem, t)) CHECK(t.d_v[0] == 0);
      }
    };
    check(blocked());
    check(materialised());
  }
}

TEST_CASE("dQ: dS is rounded before it is multiplied by K") {
  // Channel 0 gives the scores, channel 1 of the keys meets nothing but dS.
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const AttentionProblem problem = problem_of(dtype, 1, 3, 2, 1);
    Random random(1);
    Tensors t(problem, random);
    const float scores[] = {0, rounded(dtype, 0.4), rounded(dtype, -0.9)};
    const float values[] = {rounded(dtype, 0.3), rounded(dtype, -1.2), 2};
    double l = 0;
    for (int j = 0; j < 3; ++j) l += std::exp(static_cast<double>(scores[j]));
    set(t.q, {1, 0});
    set(t.v, {values[0], values[1], values[2]});
    set(t.d_o, {1});
    const auto dS = [&](int j, double D) {
      return rounded(dtype, std::exp(static_cast<double>(scores[j])) / l * (values[j] - D));
    };
    for (const auto& implementation : blocked()) {
      const std::string name = implementation->name();
      CAPTURE(name);
      set(t.k, {scores[0], 0, scores[1], 0, scores[2], 0});
      if (!compute(*implementation, problem, t)) continue;
      const double D = t.o[0];  // Δ is of O as it was stored
      set(t.k, {scores[0], dS(1, D), scores[1], -dS(0, D), scores[2], 0});
      compute(*implementation, problem, t);
      CHECK(t.d_q[1] == 0);
    }
  }
}

namespace {

constexpr int N = 16, d = 8;
constexpr double scale = 0.3, cap = 2;

using Square = std::array<std::array<double, N>, N>;
using Rows = std::array<std::array<double, d>, N>;

Rows rows_of(const testing::Storage& tensor) {
  Rows rows;
  for (int i = 0; i < N; ++i)
    for (int c = 0; c < d; ++c) rows[i][c] = tensor[i * d + c];
  return rows;
}

double dot(const auto& a, const auto& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Part of a tensor's elements that are `want`, rounded.
double share_equal(const testing::Storage& tensor, const std::vector<double>& want) {
  Index equal = 0;
  for (Index i = 0; i < tensor.size(); ++i)
    equal += tensor[i] == rounded(DType::fp16, want[static_cast<std::size_t>(i)]);
  return static_cast<double>(equal) / static_cast<double>(tensor.size());
}

/// Σ_j W_ij X_j, or of W's columns.
std::vector<double> product(const Square& W, const Rows& X, bool transposed) {
  std::vector<double> sums;
  for (int i = 0; i < N; ++i)
    for (int c = 0; c < d; ++c) {
      double sum = 0;
      for (int j = 0; j < N; ++j) sum += (transposed ? W[j][i] : W[i][j]) * X[j][c];
      sums.push_back(sum);
    }
  return sums;
}

}  // namespace

TEST_CASE("standard attention rounds every matrix that it writes to memory") {
  flashbook_problem p = dense_problem(1, 1, 1, N, N, d, d);
  p.dtype = FLASHBOOK_FP16;
  p.scale = scale;
  p.softcap = cap;
  set_contiguous_bias(p, {1, 1, N, N});
  const AttentionProblem problem(p);
  Random random(3);
  Tensors t(problem, random);
  t.bias.randomise(random);  // and hides nothing
  compute(StandardAttention(), problem, t);

  // The same in plain loops; r stands for a store.
  const auto r = [](double x) { return static_cast<double>(rounded(DType::fp16, x)); };
  const Rows Q = rows_of(t.q), K = rows_of(t.k), V = rows_of(t.v), dO = rows_of(t.d_o);
  Square P, dX;
  std::vector<double> dS;
  for (int i = 0; i < N; ++i) {
    std::array<double, N> H, dP;
    for (int j = 0; j < N; ++j) {
      const double c = std::tanh(r(scale * dot(Q[i], K[j])) / cap);
      H[j] = 1 - c * c;
      P[i][j] = std::exp(r(r(cap * c) + t.bias[i * N + j]));
      dP[j] = r(dot(dO[i], V[j]));
    }
    const double l = std::accumulate(P[i].begin(), P[i].end(), 0.0);
    for (double& weight : P[i]) weight = r(weight / l);
    const double D = dot(P[i], dP);
    for (int j = 0; j < N; ++j) {
      dS.push_back(r(P[i][j] * (dP[j] - D)));
      dX[i][j] = r(scale * r(dS.back() * H[j]));
    }
  }
  // Sums in another order are rounded otherwise once in a thousand; a store left out changes more
  // than one element in ten of something.
  CHECK(share_equal(t.o, product(P, V, false)) > .98);
  CHECK(share_equal(t.d_v, product(P, dO, true)) > .98);
  CHECK(share_equal(t.d_bias, dS) > .98);
  CHECK(share_equal(t.d_q, product(dX, K, false)) > .98);
  CHECK(share_equal(t.d_k, product(dX, Q, true)) > .98);
}

TEST_CASE("an infinite K that a soft-cap makes harmless to S reaches dQ, whatever the sign of dS") {
  // Row 0 scores +cap·tanh with key 0 and −cap with key 1, whose P, and so dS, underflows to ±0.
  flashbook_problem p = dense_problem(1, 1, 1, 1, 2, 1, 1);
  p.softcap = 500;
  p.scale = 1;
  const AttentionProblem problem(p);
  Random random(31);
  for (const float value : {-3.f, 3.f}) {  // dS = P (dP − D) is −0 or +0
    Tensors t(problem, random);
    t.q.set(0, 20);
    t.k.set(0, 20);
    t.k.set(1, -std::numeric_limits<float>::infinity());
    t.v.set(0, 0);
    t.v.set(1, value);
    t.d_o.set(0, 1);
    const auto check = [&](const Implementation& implementation) {
      const std::string name = implementation.name();
      CAPTURE(name);
      compute(implementation, problem, t);
      CHECK(t.o[0] == 0);
      CHECK(std::isnan(t.d_q[0]));
    };
    check(Oracle());
    check(io::Blocked("io.fa2"));
    check(io::Standard());
  }
}

TEST_CASE("and in 16 bits, where dS is a number that only the stored matrix makes −0") {
  // The scores are 0 and −cap: e^−cap is stored, and dS = P (dP − D), a part of it, is not.
  struct Underflow {
    std::int32_t dtype;
    float cap, value;
  };
  for (const Underflow& each :
       {Underflow{FLASHBOOK_FP16, 16.6f, -0.01f}, {FLASHBOOK_BF16, 86, -0x1p-11f}}) {
    flashbook_problem p = dense_problem(1, 1, 1, 1, 2, 1, 1);
    p.dtype = each.dtype;
    p.softcap = each.cap;
    p.scale = 1;
    const AttentionProblem problem(p);
    Random random(43);
    Tensors t(problem, random);
    t.q.set(0, 1);
    t.k.set(0, 0);
    t.k.set(1, -std::numeric_limits<float>::infinity());
    t.v.set(0, 0);
    t.v.set(1, each.value);
    t.d_o.set(0, 1);
    compute(io::Standard(), problem, t);
    CHECK(std::isnan(t.d_q[0]));
  }
}
