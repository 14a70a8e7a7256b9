// What NaN and infinity must reach in the blocked and the materialised algorithms, and what they
// must not: masked pairs, rows that see nothing, other tiles.
#include <doctest/doctest.h>

#include "cpu_reference/standard.hpp"
#include "io_runs.hpp"

using namespace flashbook;
using flashbook::testing::compute;
using flashbook::testing::Random;
using flashbook::testing::same_bits;
using flashbook::testing::Storage;
using flashbook::testing::Tensors;

namespace {

/// Where `got` is finite and `want` is not, or the other way round, or another number; empty:
/// nowhere. (∞ or NaN: the order of operations says which.)
std::string difference_where_finite(const AttentionProblem& problem, Tensors got, Tensors want,
                                    bool gradients) {
  for (Storage Tensors::*output : {&Tensors::o, &Tensors::lse, &Tensors::d_q, &Tensors::d_k,
                                   &Tensors::d_v, &Tensors::d_bias, &Tensors::d_sinks})
    for (Index i = 0; i < (want.*output).size(); ++i)
      if (!std::isfinite((want.*output)[i]) && !std::isfinite((got.*output)[i]))
        for (Tensors* t : {&got, &want}) (t->*output).set(i, 0);
  return testing::difference(problem, got, want, gradients);
}

/// The materialised implementation, and every blocked one in blocks of one shape.
std::vector<std::unique_ptr<Implementation>> in_blocks(const io::Blocks& blocks) {
  std::vector<std::unique_ptr<Implementation>> all;
  all.push_back(std::make_unique<io::Standard>());
  for (const io::BlockedPair& pair : io::blocked_pairs())
    all.push_back(std::make_unique<io::Blocked>(pair.name, io::Schedule{blocks}));
  return all;
}

}  // namespace

TEST_CASE("what is not finite reaches whom it reaches in the oracle where a tile is one pair") {
  // 70 queries: more rows than the materialised algorithms stream at a time. If causal, all but the
  // last five are empty.
  flashbook_problem p = dense_problem(1, 1, 1, 70, 5, 2, 2);
  set_contiguous_bias(p, {1, 1, 1, 5});
  p.has_sinks = 1;
  for (const int mask : {0, 1, 2})
    for (const double cap : {0., 0.5}) {
      p.causal = mask == 1;
      p.window_left = mask == 2 ? 1 : FLASHBOOK_UNBOUNDED;
      p.softcap = cap;
      const AttentionProblem problem(p);
      CAPTURE(testing::describe(problem));
      Random random(37);
      Tensors clean(problem, random);
      clean.bias.fill(0);
      if (cap == 0)
        clean.bias.set(0, -std::numeric_limits<float>::infinity());  // nobody sees key 0
      for (Storage Tensors::*tensor : {&Tensors::q, &Tensors::k, &Tensors::v, &Tensors::d_o})
        for (const float poison : {std::nanf(""), std::numeric_limits<float>::infinity()})
          for (const Index element : {Index{0}, (clean.*tensor).size() - 2}) {
            CAPTURE(poison);
            CAPTURE(element);
            Tensors want = clean;
            (want.*tensor).set(element, poison);
            Tensors got = want;
            compute(Oracle(), problem, want);
            for (const auto& implementation : in_blocks({1, 1})) {
              const std::string name = implementation->name();
              CAPTURE(name);
              const bool gradients = compute(*implementation, problem, got);
              CHECK(difference_where_finite(problem, got, want, gradients) == "");
            }
          }
    }
}

TEST_CASE("an empty row is 0 and gives nothing, whatever it and its tile hold") {
  // A bias hides all keys from rows 0 and 2; row 1 sees both.
  flashbook_problem p = dense_problem(1, 1, 1, 3, 2, 2, 2);
  set_contiguous_bias(p, {1, 1, 3, 2});
  p.has_sinks = 1;
  const AttentionProblem problem(p);
  Random random(41);
  Tensors clean(problem, random);
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 2; ++j)
      clean.bias.set(2 * i + j, i == 1 ? 0.f : -std::numeric_limits<float>::infinity());
  Tensors empty_rows = clean, keys = clean;
  for (const Index element : {0, 1, 4, 5})
    for (Storage* tensor : {&empty_rows.q, &empty_rows.d_o}) tensor->set(element, std::nanf(""));
  for (Storage* tensor : {&keys.k, &keys.v}) tensor->set(0, std::nanf(""));
  for (const io::Blocks blocks : {io::Blocks{3, 2}, io::Blocks{2, 1}, io::Blocks{1, 1}})
    for (const auto& implementation : in_blocks(blocks)) {
      const std::string name = implementation->name();
      CAPTURE(name);
      const bool gradients = compute(*implementation, problem, clean);
      compute(*implementation, problem, empty_rows);
      CHECK(same_bits(problem, clean, empty_rows, gradients));
      compute(*implementation, problem, keys);
      for (const Index element : {0, 1, 4, 5}) {
        CHECK(keys.o[element] == 0);
        if (gradients) CHECK(keys.d_q[element] == 0);
      }
      CHECK(keys.lse[0] == clean.sinks[0]);
      CHECK(std::isnan(keys.o[2]));
    }
}

TEST_CASE("rows that see nothing contribute exactly nothing, whatever dO and storage hold") {
  // Top-left causal, N_k < N_q, a window of no width: rows 0 … 2 of 9 see a key, the rest none.
  flashbook_problem p = dense_problem(1, 1, 1, 9, 3, 4, 4);
  p.alignment = FLASHBOOK_TOP_LEFT;
  p.window_left = p.window_right = 0;
  const AttentionProblem problem(p);
  Random random(11);
  Tensors clean(problem, random);
  Tensors poisoned = clean;
  for (Index i = 3 * 4; i < 9 * 4; ++i) {
    poisoned.q.set(i, std::numeric_limits<float>::quiet_NaN());
    poisoned.d_o.set(i, std::numeric_limits<float>::infinity());
  }
  for (const io::Blocks blocks : {io::Blocks{9, 3}, io::Blocks{2, 2}}) {
    compute(io::Blocked("io.fa2", {blocks}), problem, clean);
    compute(io::Blocked("io.fa2", {blocks}), problem, poisoned);
    CHECK(same_bits(problem, clean, poisoned, true));
    for (Index i = 3 * 4; i < 9 * 4; ++i) CHECK(clean.o[i] == 0);
    for (Index i = 3; i < 9; ++i) CHECK(clean.lse[i] == -std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("NaN and +∞ in what a row sees reach the row, and no row of another tile") {
  const AttentionProblem problem(dense_problem(1, 1, 1, 8, 8, 4, 4));
  Random random(13);
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), 1e38f}) {
    Tensors t(problem, random);
    for (Index c = 0; c < 4; ++c) t.q.set(c, poison);  // row 0: its scores overflow or are NaN
    for (Index i = 0; i < t.k.size(); ++i) t.k.set(i, 1e3f);
    io::Blocked("io.fa2", {{4, 4}}).forward(problem, t.inputs(), t.outputs());
    for (Index c = 0; c < 4; ++c) CHECK(std::isnan(t.o[c]));
    CHECK(std::isnan(t.lse[0]));
    for (Index i = 4; i < t.o.size(); ++i) CHECK(std::isfinite(t.o[i]));
  }
}

TEST_CASE("scores that overflow to −∞ hide their keys: a row of nothing else is empty") {
  const Index n_k = 40, d = 4;
  const AttentionProblem problem(dense_problem(1, 1, 1, 2, n_k, d, d));
  Random random(17);
  Tensors t(problem, random);
  for (Index c = 0; c < d; ++c) {
    t.q.set(c, -1e30f);
    t.q.set(d + c, 1);
  }
  t.k.fill(1e30f);
  t.k.set(0, 0);  // d − 1 of its channels still overflow
  compute(io::Blocked("io.fa2", {{2, n_k}}), problem, t);
  CHECK(t.lse[0] == -std::numeric_limits<float>::infinity());
  for (Index c = 0; c < d; ++c) CHECK(t.o[c] == 0);
  for (Index c = 0; c < d; ++c) CHECK(std::isfinite(t.o[d + c]));
}

TEST_CASE("a score of −∞ by arithmetic contributes exactly nothing, whatever dO and V hold") {
  // Row 0 overflows to −∞ with every key but the last, and so does row 1 with every key: nobody
  // masks. Row 1 is empty.
  const Index n_q = 3, n_k = 6, d = 4;
  const AttentionProblem problem(dense_problem(1, 1, 1, n_q, n_k, d, d));
  Random random(19);
  Tensors clean(problem, random);
  clean.q.fill(0);
  clean.k.fill(0);
  clean.q.set(0 * d, -1e30f);
  clean.q.set(1 * d, -1e30f);
  clean.q.set(1 * d + 1, -1e30f);
  for (Index j = 0; j < n_k; ++j) clean.k.set(j * d + (j + 1 < n_k ? 0 : 1), 1e30f);
  Tensors poisoned = clean;
  for (Index c = 0; c < d; ++c) poisoned.d_o.set(1 * d + c, std::nanf(""));  // of the empty row
  for (const io::Blocks blocks : {io::Blocks{3, 6}, io::Blocks{1, 1}, io::Blocks{2, 4}}) {
    CAPTURE(blocks.rows);
    compute(io::Blocked("io.fa2", {blocks}), problem, clean);
    compute(io::Blocked("io.fa2", {blocks}), problem, poisoned);
    CHECK(clean.lse[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isfinite(clean.lse[0]));
    CHECK(same_bits(problem, clean, poisoned, true));
  }
  compute(io::Standard(), problem, clean);
  compute(io::Standard(), problem, poisoned);
  CHECK(same_bits(problem, clean, poisoned, true));
}

TEST_CASE("V of a key that all rows hide by arithmetic does not matter") {
  const Index n = 4, d = 2;
  const AttentionProblem problem(dense_problem(1, 1, 1, n, n, d, d));
  for (const Index hidden : {0, 1}) {
    Random random(23);
    Tensors clean(problem, random);
    clean.q.fill(-1e30f);
    clean.k.fill(0);
    for (Index c = 0; c < d; ++c) clean.k.set(hidden * d + c, 1e30f);
    Tensors poisoned = clean;
    for (Index c = 0; c < d; ++c) poisoned.v.set(hidden * d + c, std::nanf(""));
    const auto check = [&](const Implementation& implementation) {
      compute(implementation, problem, clean);
      compute(implementation, problem, poisoned);
      CHECK(std::isfinite(clean.o[0]));
      CHECK(same_bits(problem, clean, poisoned, true));
    };
    check(io::Blocked("io.fa2", {{4, 4}}));
    check(io::Blocked("io.fa2", {{2, 1}}));
    check(io::Standard());
  }
}

TEST_CASE("NaN in V or dO reaches the rows and keys that see it, also where P underflows to 0") {
  // Both rows see both keys; row 0 gives key 1 a weight of e^(−400), which no float holds.
  for (const DType dtype : {DType::fp32, DType::fp16}) {
    flashbook_problem p = dense_problem(1, 1, 1, 2, 2, 1, 1);
    p.dtype = static_cast<std::int32_t>(dtype);
    p.scale = 1;
    for (const double cap : {0., 500.}) {
      p.softcap = cap;
      const AttentionProblem problem(p);
      Random random(29);
      const auto with_poison = [&](Storage Tensors::*tensor, Index element,
                                   const Implementation& implementation) {
        Tensors t(problem, random);
        t.q.set(0, 20);
        t.q.set(1, 0);
        t.k.set(0, 20);
        t.k.set(1, 0);
        (t.*tensor).set(element, std::nanf(""));
        compute(implementation, problem, t);
        return t;
      };
      const io::Blocked whole("io.fa2"), tiles("io.fa2", {{1, 1}});
      const io::Standard standard;
      const Oracle oracle;
      for (const Implementation* each :
           std::initializer_list<const Implementation*>{&oracle, &whole, &tiles, &standard}) {
        const std::string name = each->name();
        CAPTURE(name);
        const Tensors v = with_poison(&Tensors::v, 1, *each);
        CHECK(std::isnan(v.o[0]));
        CHECK(std::isnan(v.o[1]));
        CHECK(std::isnan(v.d_q[0]));
        CHECK(std::isnan(v.d_k[0]));
        CHECK(std::isnan(v.d_k[1]));
        const Tensors d_o = with_poison(&Tensors::d_o, 0, *each);
        CHECK(std::isnan(d_o.d_v[0]));
        CHECK(std::isnan(d_o.d_v[1]));
        CHECK(std::isnan(d_o.d_k[1]));
        CHECK(std::isfinite(d_o.d_q[1]));
      }
    }
  }
}

TEST_CASE("K and V of a key that a bias hides from all rows do not matter") {
  flashbook_problem p = dense_problem(1, 1, 1, 3, 3, 2, 2);
  set_contiguous_bias(p, {1, 1, 1, 3});
  const AttentionProblem problem(p);
  for (const Index hidden : {0, 2}) {
    Random random(47);
    Tensors clean(problem, random);
    clean.bias.fill(0);
    clean.bias.set(hidden, -std::numeric_limits<float>::infinity());
    Tensors poisoned = clean;
    for (Storage* tensor : {&poisoned.k, &poisoned.v}) tensor->set(hidden * 2, std::nanf(""));
    for (const io::Blocks blocks : {io::Blocks{3, 3}, io::Blocks{1, 2}})
      for (const auto& implementation : in_blocks(blocks)) {
        const std::string name = implementation->name();
        CAPTURE(name);
        const bool gradients = compute(*implementation, problem, clean);
        compute(*implementation, problem, poisoned);
        CHECK(same_bits(problem, clean, poisoned, gradients));
      }
  }
}
