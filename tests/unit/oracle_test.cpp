// The oracle: worked by hand, and against the contract's tables. It judges everything else, so
// nothing here trusts another implementation.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/data.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

auto close(double value) {
  return doctest::Approx(value).epsilon(1e-14);
}

/// A problem in fp64 with numbers written out, [N, H, ·] each.
struct Worked {
  explicit Worked(const std::string& problem) : spec(parse_problem(problem + " dtype=fp64")) {}

  void run() {
    const AttentionProblem& problem = spec.problem;
    const auto& p = problem.fields();
    const auto size = [](Index n) { return static_cast<std::size_t>(n); };
    o.assign(size(p.batch * p.n_q * p.heads_q * p.d_v), not_a_number);
    lse.assign(size(problem.lse_size()), not_a_number);
    dq.assign(q.size(), not_a_number);
    dk.assign(k.size(), not_a_number);
    dv.assign(v.size(), not_a_number);
    dbias.assign(size(problem.bias_size()), not_a_number);
    dsinks.assign(sinks.size(), not_a_number);
    const Inputs inputs = {q.data(), k.data(), v.data(), bias.data(), alibi.data(), sinks.data()};
    const Outputs outputs = {o.data(), lse.data()};
    if (grad_o.empty()) grad_o.assign(o.size(), 1.0);
    oracle.forward(problem, inputs, outputs);
    oracle.backward(problem, inputs, outputs, {grad_o.data(), grad_lse.data()},
                    {dq.data(), dk.data(), dv.data(), dbias.data(), dsinks.data()});
  }

  ProblemSpec spec;
  std::vector<double> q, k, v, bias, alibi, sinks, grad_o, grad_lse;
  std::vector<double> o, lse, dq, dk, dv, dbias, dsinks;
  Oracle oracle;
};

void check_close(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (std::isinf(expected[i]) || expected[i] == 0)
      CHECK(got[i] == expected[i]);
    else
      CHECK(got[i] == close(expected[i]));
  }
}

/// Which key each query sees, as rows of 0 and 1: V is the identity, so that O is P.
std::string visible_table(int n_q, int n_k, const std::string& options) {
  std::ostringstream problem;
  problem << "nq=" << n_q << " nk=" << n_k << " d=1 dv=" << n_k << ' ' << options;
  Worked w(problem.str());
  w.q.assign(static_cast<std::size_t>(n_q), 0.0);
  w.k.assign(static_cast<std::size_t>(n_k), 0.0);
  w.v.assign(static_cast<std::size_t>(n_k * n_k), 0.0);
  for (int j = 0; j < n_k; ++j) w.v[static_cast<std::size_t>(j * n_k + j)] = 1;
  w.run();
  std::string table;
  for (int i = 0; i < n_q; ++i) {
    table += i > 0 ? " " : "";
    for (int j = 0; j < n_k; ++j)
      table += w.o[static_cast<std::size_t>(i * n_k + j)] > 0 ? '1' : '0';
  }
  return table;
}

}  // namespace

TEST_CASE("one query, one key: O = V, and nothing to learn about the score") {
  Worked w("nq=1 d=2 dv=3 scale=0.5");
  w.q = {2, 1}, w.k = {3, -1}, w.v = {7, 8, 9}, w.grad_o = {1, 2, 3};
  w.run();
  check_close(w.o, {7, 8, 9});
  check_close(w.lse, {2.5});  // 0.5 · (2·3 − 1·1)
  check_close(w.dq, {0, 0});
  check_close(w.dk, {0, 0});
  check_close(w.dv, {1, 2, 3});
}

TEST_CASE("2 x 2 by hand") {
  // S = [ln 3, 0; 0, 0], P = [3/4, 1/4; 1/2, 1/2], O = [3 + 2; 2 + 4].
  // dP = [4, 8; 8, 16], Δ = [5; 12], dS = P∘(dP − Δ) = [−3/4, 3/4; −2, 2].
  const double ln3 = std::log(3.0);
  Worked w("nq=2 d=1 scale=1");
  w.q = {ln3, 0}, w.k = {1, 0}, w.v = {4, 8}, w.grad_o = {1, 2};
  w.run();
  check_close(w.o, {5, 6});
  check_close(w.lse, {std::log(4.0), std::log(2.0)});
  check_close(w.dq, {-0.75, -2});
  check_close(w.dk, {-0.75 * ln3, 0.75 * ln3});
  check_close(w.dv, {1.75, 1.25});
}

TEST_CASE("scale multiplies the score and its gradients; below zero it turns the order round") {
  // S = −½·[2 ln 3, 0] = [−ln 3, 0], P = [1/4, 3/4], O = 1 + 6 = 7, dS = [−3/4, 3/4].
  const double ln3 = std::log(3.0);
  Worked w("nq=1 nk=2 d=1 scale=-0.5");
  w.q = {2 * ln3}, w.k = {1, 0}, w.v = {4, 8};
  w.run();
  check_close(w.o, {7});
  check_close(w.lse, {std::log(4.0 / 3)});
  check_close(w.dq, {0.375});  // −½·(−3/4·1)
  check_close(w.dk, {0.75 * ln3, -0.75 * ln3});
}

TEST_CASE("scale 0: every visible key weighs the same") {
  Worked w("nq=2 d=1 scale=0 causal");
  w.q = {5, -3}, w.k = {100, 7}, w.v = {4, 8};
  w.run();
  check_close(w.o, {4, 6});
  check_close(w.lse, {0, std::log(2.0)});
  check_close(w.dq, {0, 0});
}

TEST_CASE("soft-cap: c = cap·tanh(x/cap), slope 1 − tanh²") {
  // x = ln 3, cap 2: tanh(ln 3 / 2) = (3 − 1)/(3 + 1) = 1/2, c = 1, h = 3/4. S = [1, 0].
  const double ln3 = std::log(3.0), e = std::exp(1.0), P = e / (e + 1);
  Worked w("nq=1 nk=2 d=1 scale=1 softcap=2");
  w.q = {ln3}, w.k = {1, 0}, w.v = {1, 0};
  w.run();
  check_close(w.o, {P});
  check_close(w.lse, {std::log(e + 1)});
  check_close(w.dq, {P * (1 - P) * 0.75});                            // dS_0 = P(1 − P)
  check_close(w.dk, {P * (1 - P) * 0.75 * ln3, -P * (1 - P) * ln3});  // slope 1 at x = 0
}

TEST_CASE("a sink takes weight, has a gradient, and none of the value") {
  // S = 0, z = ln 3: P = 1/4, P_z = 3/4, O = 8/4. D = Δ − dLSE = 2 − ½; dS = ¼(8 − 1.5).
  Worked w("nq=1 d=1 scale=1 sinks dlse");
  w.q = {0}, w.k = {1}, w.v = {8}, w.sinks = {std::log(3.0)}, w.grad_lse = {0.5};
  w.run();
  check_close(w.o, {2});
  check_close(w.lse, {std::log(4.0)});
  check_close(w.dq, {1.625});
  check_close(w.dsinks, {-0.75 * 1.5});
}

TEST_CASE("bias is added after the cap; its gradient sums where it was broadcast") {
  // Two queries, one bias a key: [ln 3, 0]. P = [3/4, 1/4] twice, dS = [−3/4, 3/4] times dO.
  Worked w("nq=2 d=1 bias=1,1,1,k");
  w.q = {0, 0}, w.k = {1, 1}, w.v = {4, 8}, w.bias = {std::log(3.0), 0}, w.grad_o = {1, 2};
  w.run();
  check_close(w.o, {5, 5});
  check_close(w.dbias, {-2.25, 2.25});
}

TEST_CASE("a bias of minus infinity hides a pair, whatever the key holds") {
  Worked w("nq=1 nk=2 d=1 bias=1,1,1,k");
  w.q = {1}, w.k = {3, not_a_number}, w.v = {4, not_a_number}, w.bias = {1, -inf};
  w.run();
  check_close(w.o, {4});
  check_close(w.dk, {0, 0});
  check_close(w.dv, {1, 0});
  check_close(w.dbias, {0, 0});
}

TEST_CASE("ALiBi: minus slope times the distance to the diagonal") {
  // Slope ln 2. Query 0 of 1 x 3 stands at key 2: weights 1/4, 1/2, 1.
  Worked w("nq=1 nk=3 d=1 dv=3 alibi=h");
  w.q = {0}, w.k = {0, 0, 0}, w.v = {1, 0, 0, 0, 1, 0, 0, 0, 1}, w.alibi = {std::log(2.0)};
  w.run();
  check_close(w.o, {1 / 7.0, 2 / 7.0, 4 / 7.0});
  // Top-left it stands at key 0; the distance counts to both sides.
  Worked left("nq=2 nk=3 d=1 dv=3 alibi=h align=top-left");
  left.q = {0, 0}, left.k = w.k, left.v = w.v, left.alibi = w.alibi;
  left.run();
  check_close(left.o, {4 / 7.0, 2 / 7.0, 1 / 7.0, 0.25, 0.5, 0.25});
}

TEST_CASE("query head h reads head h·H_kv/H_q, rounded down, and their gradients add up") {
  Worked w("nq=1 hq=4 hkv=2 d=1");
  w.q = {0, 0, 0, 0}, w.k = {1, 1}, w.v = {5, 6}, w.grad_o = {1, 2, 3, 4};
  w.run();
  check_close(w.o, {5, 5, 6, 6});
  check_close(w.dv, {3, 7});
}

TEST_CASE("5 x 5: running sums under a causal mask") {
  // Equal scores: row i is the mean of v_0 … v_i. dV_j = Σ_{i ≥ j} 1/(i + 1).
  Worked w("nq=5 d=1 causal");
  w.q.assign(5, 0.0), w.k.assign(5, 0.0), w.v = {0, 2, 4, 6, 8};
  w.run();
  check_close(w.o, {0, 1, 2, 3, 4});
  check_close(w.dv, {137 / 60.0, 77 / 60.0, 47 / 60.0, 27 / 60.0, 12 / 60.0});
}

TEST_CASE("causal tables, both alignments, both ways") {
  CHECK(visible_table(3, 3, "causal") == "100 110 111");
  CHECK(visible_table(3, 3, "causal align=top-left") == "100 110 111");
  CHECK(visible_table(2, 5, "causal") == "11110 11111");
  CHECK(visible_table(2, 5, "causal align=top-left") == "10000 11000");
  CHECK(visible_table(5, 2, "causal") == "00 00 00 10 11");
  CHECK(visible_table(5, 2, "causal align=top-left") == "10 11 11 11 11");
}

TEST_CASE("window tables: left + 1 + right keys, 0 is 0, a negative side is the number it is") {
  CHECK(visible_table(4, 4, "window=1,1") == "1100 1110 0111 0011");
  CHECK(visible_table(4, 4, "window=0,0") == "1000 0100 0010 0001");
  CHECK(visible_table(4, 4, "window=inf,0") == "1000 1100 1110 1111");
  CHECK(visible_table(4, 4, "window=inf,-1") == "0000 1000 1100 1110");
  CHECK(visible_table(4, 4, "window=-1,2") == "0110 0011 0001 0000");
  CHECK(visible_table(4, 4, "window=7,-8") == "0000 0000 0000 0000");
  CHECK(visible_table(2, 4, "window=1,0") == "0110 0011");
  CHECK(visible_table(2, 4, "window=1,0 align=top-left") == "1000 1100");
  CHECK(visible_table(4, 4, "causal window=1,2") == "1000 1100 0110 0011");
}

TEST_CASE("packed: members do not see each other, each has its own diagonal, slack is empty") {
  CHECK(visible_table(4, 6, "causal cu_q=0,1,3 cu_k=0,2,5") == "110000 001100 001110 000000");
  CHECK(visible_table(2, 3, "cu_q=0,2,2 cu_k=0,0,3") == "000 000");
}

TEST_CASE("empty rows: O = 0, LSE = −∞, no gradient whatever dO holds") {
  Worked w("nq=2 nk=1 d=1 causal");
  w.q = {not_a_number, 1}, w.k = {1}, w.v = {4}, w.grad_o = {not_a_number, 1};
  w.run();
  check_close(w.o, {0, 4});
  check_close(w.lse, {-inf, 1});
  check_close(w.dq, {0, 0});
  check_close(w.dk, {0});
  check_close(w.dv, {1});
}

TEST_CASE("an empty row with a sink: O = 0, LSE = sink, dLSE reaches the sink") {
  Worked w("nq=1 nk=0 d=1 sinks dlse");
  w.q = {1}, w.sinks = {3}, w.grad_lse = {5}, w.grad_o = {not_a_number};
  w.run();
  check_close(w.o, {0});
  check_close(w.lse, {3});
  check_close(w.dsinks, {5});
}

TEST_CASE("a sink of −∞ is as none: dLSE of an empty row does not reach it") {
  Worked w("nq=1 nk=0 d=1 sinks dlse");
  w.q = {1}, w.sinks = {-std::numeric_limits<double>::infinity()}, w.grad_lse = {5};
  w.run();
  check_close(w.lse, {-std::numeric_limits<double>::infinity()});
  check_close(w.dsinks, {0});
}

TEST_CASE("rows far below zero are ordinary rows; a single key of logit 1e10 gives O = V") {
  Worked low("nq=1 nk=2 d=1 bias=1,1,1,1");
  low.q = {0}, low.k = {0, 0}, low.v = {4, 8}, low.bias = {-1e6};
  low.run();
  check_close(low.o, {6});
  Worked high("nq=1 d=1 scale=1");
  high.q = {1e5}, high.k = {1e5}, high.v = {0.1};
  high.run();
  CHECK(high.o[0] == 0.1);
  CHECK(high.lse[0] == 1e10);
}

TEST_CASE("NaN reaches the rows that see it and no other") {
  // Causal, 6 x 6; the plant is in token 4, which rows 4 and 5 see.
  const auto nan_tokens = [](const char* plant, Output output) {
    const ProblemSpec spec =
        parse_problem(std::string("nq=6 d=2 dtype=fp64 causal plant=") + plant);
    const Data data(spec, 1);
    Results results(spec.problem);
    const Oracle oracle;
    oracle.forward(spec.problem, data.inputs(), results.outputs());
    oracle.backward(spec.problem, data.inputs(), results.outputs(), data.cotangents(),
                    results.gradients());
    std::string tokens;
    for (Index token = 0; token < 6; ++token) {
      const double first = results[output].get(output == Output::LSE ? token : 2 * token);
      const double second = output == Output::LSE ? first : results[output].get(2 * token + 1);
      tokens += std::isfinite(first) && std::isfinite(second) ? '.' : 'N';
    }
    return tokens;
  };
  CHECK(nan_tokens("nan-q", Output::O) == "....N.");
  CHECK(nan_tokens("nan-q", Output::LSE) == "....N.");
  CHECK(nan_tokens("nan-q", Output::dQ) == "....N.");
  CHECK(nan_tokens("nan-q", Output::dK) == "NNNNN.");
  CHECK(nan_tokens("nan-q", Output::dV) == "NNNNN.");
  CHECK(nan_tokens("nan-k", Output::O) == "....NN");
  CHECK(nan_tokens("nan-k", Output::dQ) == "....NN");
  CHECK(nan_tokens("nan-k", Output::dV) == "NNNNNN");
  CHECK(nan_tokens("nan-v", Output::O) == "....NN");
  CHECK(nan_tokens("nan-v", Output::LSE) == "......");
  CHECK(nan_tokens("nan-v", Output::dQ) == "....NN");
  CHECK(nan_tokens("nan-v", Output::dK) == "NNNNNN");
  CHECK(nan_tokens("nan-v", Output::dV) == "......");
  CHECK(nan_tokens("nan-do", Output::dQ) == "....N.");
  CHECK(nan_tokens("nan-do", Output::dK) == "NNNNN.");
  CHECK(nan_tokens("nan-do", Output::dV) == "NNNNN.");
}

TEST_CASE("infinity in one channel reaches that channel of who sees it, and leaves the others") {
  // Causal: row 0 sees key 0, row 1 both. ∞ in channel 0 of V of key 0, then of dO of row 1.
  const auto run = [](double value, double grad_output) {
    Worked w("nq=2 d=2 causal");
    w.q = {1, 0.5, 0.25, -1}, w.k = {0.3, 0.2, -0.4, 0.7};
    w.v = {value, 3, 5, 7}, w.grad_o = {1, 2, grad_output, 4};
    w.run();
    return w;
  };
  const Worked clean = run(2, 3), of_v = run(inf, 3), of_do = run(2, inf);
  check_close(of_v.o, {inf, clean.o[1], inf, clean.o[3]});
  check_close(of_do.dv, {inf, clean.dv[1], inf, clean.dv[3]});
}

TEST_CASE("a bias of minus infinity hides a pair whose ALiBi slope is not finite") {
  Worked w("nq=1 d=1 bias=1,1,1,1 alibi=h");
  w.q = {1}, w.k = {1}, w.v = {4}, w.bias = {-inf}, w.alibi = {not_a_number};
  w.run();
  check_close(w.o, {0});
  check_close(w.lse, {-inf});
}

TEST_CASE("a soft-cap does not let through what a mask hides") {
  // Key 0 is seen by nobody and holds NaN, hence so does the cap's slope there.
  Worked w("nq=1 nk=2 d=1 scale=1 softcap=2 window=0,0");
  w.q = {1}, w.k = {not_a_number, 1}, w.v = {not_a_number, 8};
  w.run();
  check_close(w.o, {8});
  check_close(w.dq, {0});
  check_close(w.dk, {0, 0});
  check_close(w.dv, {0, 1});
}

// -------------------------------------------------------------------------------------------------
// Finite differences
// -------------------------------------------------------------------------------------------------
