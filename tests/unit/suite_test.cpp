// The suite itself: correct implementations pass, wrong ones do not, however small the fault.
#include "tests/conformance/suite.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/conformance/data.hpp"
#include "tests/conformance/support.hpp"
#include "tests/unit/edited_heads.hpp"
#include "tests/unit/faulty.hpp"
#include "tests/unit/smoke_cases.hpp"

namespace {

using namespace flashbook;
using namespace flashbook::conformance;
using namespace flashbook::test;

CaseReport judged(const Implementation& implementation, const std::string& problem,
                  std::uint64_t seed = 5) {
  return verify(implementation, {"test", parse_problem(problem)}, seed);
}

bool fails(const Faulty::Fault& fault, const std::string& problem) {
  return judged(Faulty(fault), problem).status == Status::failed;
}

const char* const dtypes[] = {"fp16", "bf16", "fp32"};

}  // namespace

TEST_CASE("verify_all reports every implementation on every case, in order") {
  std::vector<std::unique_ptr<Implementation>> implementations;
  implementations.push_back(std::make_unique<Oracle>());
  implementations.push_back(std::make_unique<StandardAttention>());
  const std::vector<Case> cases = matching_cases("option/s*/*");
  std::size_t calls = 0;
  const auto reports = verify_all(implementations, cases, 1,
                                  [&](std::size_t, std::size_t, const CaseReport&) { ++calls; });
  CHECK(calls == 2 * cases.size());
  REQUIRE(reports.size() == 2 * cases.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    CHECK(reports[i].case_name == cases[i / 2].name);
    CHECK(reports[i].implementation == implementations[i % 2]->name());
    CHECK(reports[i].status == Status::passed);
  }
}

TEST_CASE("case names are unique, and a glob finds them") {
  std::set<std::string> names;
  for (const Case& known : all_cases()) names.insert(known.name);
  CHECK(names.size() == all_cases().size());
  CHECK(matching_cases("pair/*sinks*/bf16").size() > 10);
  CHECK(matching_cases("nothing").empty());
}

namespace {

/// Keys 0 … 63 in O with a factor, as if O had not been rescaled right once, after the first tile;
/// with_l: the sum of weights, and so LSE, too.
Faulty::Fault wrong_rescale(double factor, bool with_l) {
  return EditedHeads([=](const Reading& r) {
    if (r.backward) return;
    if (!with_l) {
      r.head.V.topRows(64) *= factor;
      return;
    }
    r.head.bias = Matrix<double>::Zero(r.member.n_q, r.member.n_k);
    r.head.bias.leftCols(64).setConstant(std::log(factor));
  });
}

}  // namespace

TEST_CASE("1 % off in Δ, dQ, dK, dV, O or one tile's rescale is seen in every dtype") {
  for (const std::string dtype : dtypes) {
    CAPTURE(dtype);
    Exercise exercise({"test", parse_problem("hq=2 nq=200 d=64 dtype=" + dtype)}, 5);
    const auto status = [&](const Faulty::Fault& fault) {
      return exercise.verify(Faulty(fault)).status;
    };
    CHECK(status([](const Call&) {}) == Status::passed);
    CHECK(status(wrong_delta(0.99)) == Status::failed);
    for (Output output : {Output::O, Output::dQ, Output::dK, Output::dV}) {
      CAPTURE(name(output));
      CHECK(status(scaled(output, 1.01)) == Status::failed);
      CHECK(status(scaled(output, 1.0)) == Status::passed);
    }
    for (const bool with_l : {false, true}) {
      CAPTURE(with_l);
      CHECK(status(wrong_rescale(0.99, with_l)) == Status::failed);
      CHECK(status(wrong_rescale(1.01, with_l)) == Status::failed);
      CHECK(status(wrong_rescale(1.0, with_l)) == Status::passed);
    }
  }
}

TEST_CASE("the margins of a 1 % error: gate 3 sees Δ in bf16 where gate 1 does not") {
  const CaseReport report = judged(Faulty(wrong_delta(0.99)), "hq=2 nq=200 d=64 dtype=bf16");
  const auto dq = std::find_if(report.outputs.begin(), report.outputs.end(),
                               [](const OutputReport& o) { return o.output == Output::dQ; });
  REQUIRE(dq != report.outputs.end());
  CHECK(dq->margins.gate1 < 1);
  CHECK(*dq->margins.gate3 > 1.5);
  CHECK(dq->margins.gate3_direction == "Δ");
  CHECK(*dq->ratio_to_standard < 2);  // the popular rule lets it pass
}

TEST_CASE("masks off by one, the other alignment, a lost member or sink") {
  using P = flashbook_problem;
  for (const std::string dtype : dtypes) {
    CAPTURE(dtype);
    const std::string base = "nq=40 nk=50 d=32 dtype=" + dtype + ' ';
    CHECK(fails(as_if([](P& p) { p.alignment = FLASHBOOK_TOP_LEFT; }), base + "causal"));
    CHECK(fails(as_if([](P& p) { p.causal = 0; }), base + "causal"));
    CHECK(fails(as_if([](P& p) { ++p.window_left; }), base + "window=9,4"));
    CHECK(fails(as_if([](P& p) { --p.window_right; }), base + "window=9,4"));
    CHECK(fails(as_if([](P& p) { p.window_right = unbounded; }), base + "window=7,-8"));
    CHECK(fails(as_if([](P& p) { p.has_sinks = 0; }), base + "sinks"));
    CHECK(fails(as_if([](P& p) { p.has_dlse = 0; }), base + "dlse"));
    CHECK(fails(as_if([](P& p) { p.softcap *= 1.01; }), base + "softcap=2"));
    CHECK(fails(as_if([](P& p) { p.scale *= 1.01; }), base));
    CHECK(fails(as_if([](P& p) { p.alibi = FLASHBOOK_ALIBI_H; }), base + "b=2 alibi=bh"));
  }
}

namespace {

/// f(lse) → new LSE.
template <class F>
Faulty::Fault each_lse(F f) {
  return changed_lse([f](const Call&, float x, auto...) { return f(x); });
}

}  // namespace

TEST_CASE("however large the logits: a lone key's V is O, and LSE is as close as its scores") {
  for (const std::string dtype : dtypes) {
    CAPTURE(dtype);
    for (const std::string size : {"nq=1 nk=1", "nq=40 window=0,0", "hq=2 nq=40 nk=50 causal"})
      for (const std::string data : {"logits-1e10", "logits-1e4", "logits-minus-100", "normal"}) {
        const std::string problem = size + " d=64 data=" + data + " dtype=" + dtype;
        CAPTURE(problem);
        const bool is_lone = size[0] == 'n', is_ordinary = data == "normal";
        CHECK_FALSE(fails([](const Call&) {}, problem));
        CHECK(fails(each_lse([](float x) { return 1.01f * x; }), problem));
        if (data != "logits-1e10") CHECK(fails(each_lse([](float x) { return x + 1; }), problem));
        if (is_lone || is_ordinary) {
          CHECK(fails(scaled(Output::O, 0), problem));
          CHECK(fails(scaled(Output::O, 1.03), problem));
        }
      }
  }
}

TEST_CASE("weights of a few of fp16's smallest numbers: dS underflows stored, and again scaled") {
  const CaseReport report = judged(StandardAttention(),
                                   "hq=2 hkv=1 nq=4 nk=3 d=3 dv=2 dtype=fp16 causal sinks "
                                   "data=logits-std-1e2",
                                   8343609861103827u);
  CHECK(report.status == Status::passed);
}

TEST_CASE("LSE in base 2, or without its last key") {
  CHECK(fails(each_lse([](float x) { return x * 1.4427f; }), "nq=40 d=32 dtype=bf16"));
  CHECK(fails(each_lse([](float x) { return x + std::log(39.0f / 40); }), "nq=40 d=32 dtype=bf16"));
  // An empty row's LSE is −∞, not 0, not a large number.
  for (float wrong : {0.0f, -1e30f, std::numeric_limits<float>::quiet_NaN()})
    CHECK(fails(each_lse([wrong](float x) { return std::isinf(x) ? wrong : x; }),
                "nq=9 nk=4 d=16 causal dtype=fp16"));
}

TEST_CASE("adversarial outputs: zeros, the mean of V, permuted heads, a dropped rescale") {
  const auto rewrite_O = [](auto f) {
    return [f](const Call& call) {
      if (!call.gradients)
        change(call.problem, call.outputs.o, call.problem->o, shape(call.problem, Output::O), f);
    };
  };
  for (const std::string dtype : dtypes) {
    CAPTURE(dtype);
    const std::string problem = "hq=2 nq=40 d=32 dtype=" + dtype;
    CHECK(fails(scaled(Output::O, 0), problem));
    CHECK(fails(scaled(Output::dQ, 0), problem));
    CHECK(fails(scaled(Output::dK, 0), problem));
    CHECK(fails(scaled(Output::dV, 0), problem));
    // The first ten rows as if the first tile's maximum had not been rescaled.
    CHECK(fails(
        rewrite_O([](double x, Index, Index t, Index, Index) { return t < 10 ? 0.9 * x : x; }),
        problem));
    CHECK(fails(as_if([](flashbook_problem& p) { p.v.head = 0; }), problem));  // one head for all
    CHECK(fails(as_if([](flashbook_problem& p) { p.scale = 0; }), problem));   // the mean of V
  }
}

TEST_CASE("an element not written, one written outside, garbage in an empty row, other runs") {
  const std::string problem = "hq=2 nq=20 nk=12 d=16 causal dtype=fp16";
  const auto poke = [](Index element, float value) {
    return [=](const Call& call) {
      if (!call.gradients) static_cast<half*>(call.outputs.o)[element] = static_cast<half>(value);
    };
  };
  CHECK_FALSE(fails(poke(0, 0.0f), problem));      // row 0 is empty: 0 is right
  CHECK(fails(poke(0, 1e-7f), problem));           // and nothing else is
  CHECK(fails(poke(-1, 1.0f), problem));           // before the tensor
  CHECK(fails(poke(20 * 2 * 16, 1.0f), problem));  // after it
  CHECK_FALSE(fails([](const Call&) {}, "nq=9 d=16 strides_o=400,20,16 dtype=fp16"));
  CHECK(fails(poke(17, 1.0f), "nq=9 d=16 strides_o=400,20,16 dtype=fp16"));  // between two rows

  class Lazy : public Faulty {  // writes all but one element of dK
   public:
    Lazy() : Faulty([](const Call&) {}) {}
    void backward(const AttentionProblem& p, const Inputs& in, const Outputs& saved,
                  const Cotangents& cotangents, const Gradients& gradients) const override {
      auto& element = static_cast<half*>(gradients.k)[7];
      const half before = element;
      Faulty::backward(p, in, saved, cotangents, gradients);
      element = before;
    }
  };
  const CaseReport lazy = judged(Lazy(), problem);
  CHECK(lazy.status == Status::failed);
  CHECK(lazy.reasons.front().find("dK: 1 elements were not written") == 0);

  int run = 0;
  CHECK(fails(
      [&run](const Call& call) {
        if (call.gradients) return;
        auto& x = static_cast<float*>(call.outputs.lse)[19];
        if (++run % 2) x = std::nextafter(x, 0.0f);
      },
      problem));
}

TEST_CASE("NaN that spreads must be declared, and reaches its tile only") {
  const std::string problem = "nq=40 nk=40 d=16 causal plant=nan-v dtype=bf16";  // key 26
  const auto spread_to = [](Index first, Index last) {
    return [=](const Call& call) {
      const auto in_range = [=](double x, Index, Index t, Index, Index) {
        return t >= first && t < last ? std::numeric_limits<double>::quiet_NaN() : x;
      };
      if (!call.gradients)
        change(call.problem, call.outputs.o, call.problem->o, shape(call.problem, Output::O),
               in_range);
    };
  };
  Properties tiles;
  tiles.nan_spreads_within = TileShape{16, 16};
  CHECK_FALSE(fails(spread_to(0, 0), problem));
  CHECK(fails(spread_to(16, 26), problem));
  CHECK(judged(Faulty(spread_to(16, 26), tiles), problem).status == Status::passed);
  CHECK(judged(Faulty(spread_to(15, 26), tiles), problem).status == Status::failed);
}

TEST_CASE("refusals: the table decides") {
  struct Refusing : Faulty {
    explicit Refusing(std::string called)
        : Faulty([](const Call&) {}), called_(std::move(called)) {}
    std::string name() const override { return called_; }
    Support supports_backward(const AttentionProblem&) const override {
      return Support::no("no backward pass: use oracle");
    }
    std::string called_;
  };
  const CaseReport unlisted = judged(Refusing("oracle"), "nq=9 d=8");
  CHECK(unlisted.status == Status::failed);
  const CaseReport stranger = judged(Refusing("a reader's kernel"), "nq=9 d=8");
  CHECK(stranger.status == Status::passed);
  CHECK(stranger.reasons.front() == "backward is refused: no backward pass: use oracle");
  CHECK(stranger.outputs.size() == 2);

  struct Accepting : Faulty {
    Accepting() : Faulty([](const Call&) {}) {}
    std::string name() const override { return "io.fa2"; }
  };
  CHECK(judged(Accepting(), "nq=9 d=8 dtype=fp64").status == Status::failed);
}

TEST_CASE("a failure says how to run it again") {
  const CaseReport report =
      judged(Faulty(scaled(Output::dV, 2)), "nq=20 d=16 dtype=bf16 causal", 42);
  CHECK(report.status == Status::failed);
  CHECK(report.command ==
        "flashbook verify --impl faulty --problem \"nq=20 d=16 dtype=bf16 causal\" --seed 42");
  CHECK(report.reasons.front().find("dV fails gate 1: element [0, ") == 0);
}

TEST_CASE("NaN where a number belongs is told once, without a sign or a distance") {
  const float nan = -std::numeric_limits<float>::quiet_NaN();
  const CaseReport report = judged(Faulty(scaled(Output::O, nan)), "nq=20 d=16");
  REQUIRE(report.status == Status::failed);
  CHECK(report.reasons.front().find("O fails gate 1: element [0, 0, 0, 0] is nan, expected ") == 0);
  for (const std::string& reason : report.reasons) {
    CAPTURE(reason);
    CHECK(reason.find("within") == std::string::npos);
    CHECK(reason.find("O fails gate 2") == std::string::npos);
    CHECK(reason.find("O fails gate 3") == std::string::npos);
  }
}

TEST_CASE("of NaN the commonest cause is told: a query without keys, or NaN that is hidden") {
  // Queries 0 to 16 see no key.
  const auto told = [](Output output, Index query) {
    const Faulty nan(changed(output, [=](const Call&, double x, Index, Index i, Index h, Index) {
      return i == query && h == 1 ? std::numeric_limits<double>::quiet_NaN() : x;
    }));
    return judged(nan, "b=2 hq=3 nq=20 nk=3 d=16 causal").reasons.front();
  };
  for (Output output : {Output::O, Output::dQ}) {
    CHECK(told(output, 16).find(": this query sees no key") != std::string::npos);
    CHECK(told(output, 17).find(": nothing that it sees is NaN") != std::string::npos);
  }
  const Faulty lse(changed_lse([](const Call&, double, auto...) { return NAN; }));
  CHECK(judged(lse, "nq=4 nk=3 d=16 causal").reasons.front().find(": this query sees no key") !=
        std::string::npos);
}

TEST_CASE("of NaN that is lost, and of an output that is all NaN, the cause is told") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto first_of = [](const Faulty::Fault& fault, const std::string& problem) {
    return judged(Faulty(fault), problem).reasons.front();
  };
  CHECK(first_of(scaled(Output::dK, nan), "nq=20 nk=30 d=16")
            .find("all of it is NaN, as outputs are before the call") != std::string::npos);
  const auto lost =
      changed(Output::O, [](const Call&, double x, auto...) { return std::isnan(x) ? 0 : x; });
  CHECK(
      first_of(lost, "nq=70 nk=90 d=16 plant=nan-q").find("expected nan: what it sees makes it") !=
      std::string::npos);
}

TEST_CASE("a factor that all elements share is told, and no other") {
  const auto told = [](const Faulty::Fault& fault,
                       const std::string& problem = "nq=20 d=16 causal") {
    const std::string reason = judged(Faulty(fault), problem).reasons.front();
    const std::size_t at = reason.find("; all of it is ");
    return at == std::string::npos ? "" : reason.substr(at);
  };
  CHECK(told(scaled(Output::dQ, 4)) == "; all of it is 4 times what is expected");
  CHECK(told(scaled(Output::O, 2), "nq=1 d=4").empty());  // too few to say so
  CHECK(told(scaled(Output::O, 0)) == "; all of it is 0 times what is expected");
  CHECK(told(changed_lse([](const Call&, double x, auto...) { return x / std::log(2.0); })) ==
        "; all of it is 1.4427 times what is expected");
  CHECK(told(changed(Output::dQ, [](const Call&, double x, Index, Index i, Index, Index) {
          return i == 3 ? x : 4 * x;
        })).empty());
  CHECK(told(changed(Output::dQ, [](const Call&, double x, Index, Index i, Index, Index c) {
          return i == 3 && c < 4 ? 4 * x : x;
        })).empty());
}

TEST_CASE("the name in that command is one word for a shell") {
  struct Named : Faulty {
    Named() : Faulty(scaled(Output::dV, 2)) {}
    std::string name() const override { return "my [16x48]'s"; }
  };
  CHECK(judged(Named(), "nq=20 d=16", 42).command ==
        "flashbook verify --impl 'my [16x48]'\\''s' --problem \"nq=20 d=16\" --seed 42");
}

TEST_CASE("an implementation that writes to its inputs fails, and harms the next one not") {
  const std::string problem = "hq=2 nq=20 d=16 strides_k=900,40,20 sinks dlse dtype=fp16";
  Exercise exercise({"test", parse_problem(problem)}, 5);
  const auto wrote = [](const void* tensor, Index element, bool backward) {
    return [=](const Call& call) {
      if (bool(call.gradients) == backward)
        const_cast<half*>(static_cast<const half*>(tensor))[element] = half{1.0f};
    };
  };
  const auto reason = [&](auto field, Index element, bool backward) {
    const CaseReport report = exercise.verify(
        Faulty([=](const Call& call) { wrote(field(call), element, backward)(call); }));
    return report.status == Status::failed ? report.reasons.back() : std::string();
  };
  const auto q = [](const Call& call) { return call.inputs.q; };
  const auto k = [](const Call& call) { return call.inputs.k; };
  const auto dO = [](const Call& call) { return call.cotangents ? call.cotangents->o : nullptr; };
  CHECK(reason(q, -1, false) == "it wrote to its inputs: Q");  // its guard band
  CHECK(reason(k, 17, false) == "it wrote to its inputs: K");  // between two heads
  CHECK(reason(k, 17, true) == "it wrote to its inputs: K");
  CHECK(reason(dO, 20 * 2 * 16 + 5, true) == "it wrote to its inputs: dO");
  CHECK(exercise.verify(Oracle()).status == Status::passed);
}

TEST_CASE("one NaN repeats another, whatever its sign; a zero has one") {
  int run = 0;
  const auto flip = [&run](bool (*chosen)(float)) {
    return [&run, chosen](const Call& call) {
      auto* const o = static_cast<float*>(call.outputs.o);
      if (call.gradients || ++run % 2) return;
      for (Index i = 0; i < call.problem->n_q * call.problem->d_v; ++i)
        if (chosen(o[i])) o[i] = -o[i];
    };
  };
  const auto is_nan = [](float x) { return std::isnan(x); };
  CHECK_FALSE(fails(flip(is_nan), "nq=20 d=16 plant=nan-q dtype=fp32"));
  const auto is_zero = [](float x) { return x == 0; };
  CHECK(fails(flip(is_zero), "nq=20 nk=3 d=16 causal dtype=fp32"));  // empty rows
}

TEST_CASE("the second run is looked at, too; dBias and dSinks repeat; backward leaves O alone") {
  const std::string problem = "hq=2 nq=20 d=16 bias=1,h,q,k sinks dtype=fp32";
  int run = 0;
  CHECK(fails(
      [&run](const Call& call) {
        if (!call.gradients && ++run % 2 == 0) static_cast<float*>(call.outputs.o)[-3] = 1;
      },
      problem));
  const auto nudged = [&run](auto tensor) {
    return [&run, tensor](const Call& call) {
      if (!call.gradients) return;
      float& x = static_cast<float*>(tensor(*call.gradients))[1];
      if (++run % 2) x = std::nextafter(x, 0.0f);
    };
  };
  const auto dbias = nudged([](const Gradients& gradients) { return gradients.bias; });
  const auto dsinks = nudged([](const Gradients& gradients) { return gradients.sinks; });
  CHECK(fails(dbias, problem));
  CHECK(fails(dsinks, problem));
  Properties declared;
  declared.deterministic_dkv = false;
  CHECK(judged(Faulty(dbias, declared), problem).status == Status::passed);
  CHECK(judged(Faulty(dsinks, declared), problem).status == Status::passed);
  CHECK(fails(
      [](const Call& call) {
        auto& x = static_cast<float*>(call.outputs.o)[1];
        if (call.gradients) x = std::nextafter(x, 0.0f);
      },
      problem));
}

TEST_CASE("a packed member's O and LSE do not depend on its neighbours") {
  const std::string problem =
      "hq=4 hkv=2 nq=40 nk=50 d=16 dtype=fp32 alibi=bh bias=1,h,q,k sinks layout=bhnd "
      "cu_q=0,9,9,30 "
      "cu_k=0,14,31,45";
  const auto nudged = [](Index member, Output output) {
    return [=](const Call& call) {
      if (call.gradients || call.problem->members < 2) return;
      auto* x = static_cast<float*>(output == Output::O ? call.outputs.o : call.outputs.lse);
      x += call.problem.member(member).first_q * (output == Output::O ? call.problem->o.token : 1);
      *x = std::nextafter(*x, 0.0f);
    };
  };
  CHECK_FALSE(fails([](const Call&) {}, problem));
  for (Index member : {0, 2})
    for (Output output : {Output::O, Output::LSE}) {
      const CaseReport report = judged(Faulty(nudged(member, output)), problem);
      CHECK(report.status == Status::failed);
      REQUIRE(report.reasons.size() == 1);
      CHECK(report.reasons[0] == "O or LSE of packed member " + std::to_string(member) +
                                     " differs from what it is without its neighbours");
    }
}

TEST_CASE("what a case throws before it is judged reaches the caller; so does bad_alloc") {
  std::vector<std::unique_ptr<Implementation>> implementations;
  implementations.push_back(std::make_unique<Faulty>([](const Call& call) {
    if (call.problem->n_q == 7) throw std::bad_alloc();
  }));
  const std::vector<Case> cases = {{"small", parse_problem("nq=5 d=4")},
                                   {"large", parse_problem("nq=7 d=4")},
                                   {"small again", parse_problem("nq=6 d=4")}};
  CHECK_THROWS_AS(verify_all(implementations, cases, 1), std::bad_alloc);
#ifndef FLASHBOOK_SANITIZED  // whose allocator aborts instead
  const std::vector<Case> huge = {{"huge", parse_problem("nq=8000000 d=1")}};
  CHECK_THROWS_AS(verify_all(implementations, huge, 1), std::bad_alloc);
#endif
}

TEST_CASE("an implementation that throws fails") {
  CHECK(fails(
      [](const Call& call) {
        if (call.gradients) throw std::runtime_error("no");
      },
      "nq=4 d=4"));
}

TEST_CASE("real tensors pass through the same gates") {
  const ProblemSpec spec = parse_problem("hq=2 nq=50 d=32 dtype=fp16");
  const Data data(spec, 9);
  CHECK(verify_tensors(StandardAttention(), "tensors", spec.problem, data.inputs(), 1).status ==
        Status::passed);
  const CaseReport failed =
      verify_tensors(Faulty(scaled(Output::dQ, 1.02)), "tensors", spec.problem, data.inputs(), 1);
  CHECK(failed.status == Status::failed);
  CHECK(failed.command.empty());  // there is no line that makes these tensors
}
