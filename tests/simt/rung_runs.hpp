#pragma once

#include <cstddef>
#include <vector>

#include "cpu_reference/standard.hpp"
#include "cuda/backward/kernels.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/simt/kernel_runs.hpp"

/// Runs of rungs of the ladders, or of variants of them, on the emulator.
namespace flashbook::emulated {

/// A forward rung by its launcher, at d = 64.
template <class T, class Launch>
Outcome run_forward(Launch* launch, simt::Options options, int N_q, int N_k) {
  constexpr int d = 64;
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<T> Q(q, 1), K(k, 2), V(k, 3), O(q);
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  flashbook_problem problem = dense_problem(1, 1, 1, N_q, N_k, d, d);
  problem.dtype = std::is_same_v<T, half> ? FLASHBOOK_FP16 : FLASHBOOK_BF16;
  simt::Stream stream = {options, {}};
  launch(problem, {Q.data(), K.data(), V.data(), O.data(), lse.data()}, nullptr, &stream);
  const double tolerance = std::is_same_v<T, half> ? 2e-3 : 1.6e-2;
  return {std::move(stream.report),
          is_attention(Q, K, V, O, lse, N_q, N_k, d, problem.scale, tolerance)};
}

/// A forward pass alone, 16 bits. Collects what the emulator finds.
class ForwardOnly : public Implementation {
 public:
  using Launch = LaunchStatus (*)(const flashbook_problem&, const ForwardTensors&, void* workspace,
                                  void* stream);

  ForwardOnly(Launch launch, simt::Options options) : launch_(launch), stream_{options, {}} {}

  std::string name() const override { return "a variant"; }
  Properties properties() const override {
    Properties properties;
    properties.nan_spreads_within = TileShape{256, 64};
    return properties;
  }
  Support supports_forward(const AttentionProblem&) const override { return Support::yes(); }
  Support supports_backward(const AttentionProblem&) const override {
    return Support::no("there is no backward kernel");
  }
  void forward(const AttentionProblem& problem, const Inputs& in,
               const Outputs& out) const override {
    ForwardTensors tensors = {in.q, in.k, in.v, out.o, static_cast<float*>(out.lse)};
    tensors.cu_seqlens_q = problem.cu_seqlens_q().data();
    tensors.cu_seqlens_k = problem.cu_seqlens_k().data();
    launch_(problem.fields(), tensors, nullptr, &stream_);
  }
  void backward(const AttentionProblem&, const Inputs&, const Outputs&, const Cotangents&,
                const Gradients&) const override {}

  simt::Report& report() { return stream_.report; }

 private:
  Launch launch_;
  mutable simt::Stream stream_;
};

/// A forward rung of tiles for d up to 64, fp16, judged by the suite: a problem in words.
inline Outcome run_judged(ForwardOnly::Launch launch, simt::Options options, const char* text) {
  using namespace conformance;
  Exercise exercise({"forward", parse_problem(text)}, 1);
  ForwardOnly variant(launch, options);
  const bool right = exercise.verify(variant).status == Status::passed;
  return {std::move(variant.report()), right};
}
/// Two tiles of queries, the last ragged; three of keys, one of them full for some rows.
inline Outcome run_causal(ForwardOnly::Launch launch, simt::Options options) {
  return run_judged(launch, options, "hq=2 hkv=1 nq=140 nk=160 d=40 dtype=fp16 causal");
}

/// A backward pass behind the oracle's forward pass. Collects what the emulator finds.
class BackwardOnly : public Implementation {
 public:
  using Launch = LaunchStatus (*)(const flashbook_problem&, const BackwardTensors&, void* workspace,
                                  void* stream);

  /// `launch` in place of the rung's own.
  BackwardOnly(const BackwardKernel& rung, Launch launch, simt::Options options)
      : rung_(rung), launch_(launch), stream_{options, {}} {}

  std::string name() const override { return rung_.name; }
  Properties properties() const override {
    Properties properties;
    properties.materialised = rung_.properties.materialised;
    properties.nan_spreads_within = TileShape{rung_.properties.nan_rows, rung_.properties.nan_keys};
    return properties;
  }
  Support supports_forward(const AttentionProblem&) const override { return Support::yes(); }
  Support supports_backward(const AttentionProblem&) const override { return Support::yes(); }
  void forward(const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& outputs) const override {
    Oracle().forward(problem, inputs, outputs);
  }
  void backward(const AttentionProblem& problem, const Inputs& in, const Outputs& saved,
                const Cotangents& cotangents, const Gradients& out) const override {
    std::vector<std::byte> workspace(rung_.workspace_bytes(problem.fields()), std::byte{0xff});
    launch_(problem.fields(),
            {in.q, in.k, in.v, saved.o, static_cast<const float*>(saved.lse), cotangents.o,
             static_cast<const float*>(cotangents.lse), out.q, out.k, out.v},
            workspace.data(), &stream_);
  }

  simt::Report& report() { return stream_.report; }

 private:
  const BackwardKernel& rung_;
  Launch launch_;
  mutable simt::Stream stream_;
};

/// A backward rung, judged by the suite. Ragged tiles, grouped heads, a gradient of the LSE; rows
/// that see nothing, or keys that nobody sees, and NaN in them.
inline Outcome run_backward(const BackwardKernel& rung, BackwardOnly::Launch launch,
                            simt::Options options) {
  using namespace conformance;
  const auto exercise_of = [](const char* text) {
    return Exercise({"backward", parse_problem(text)}, 1);
  };
  static std::vector<Exercise> exercises = [&] {
    std::vector<Exercise> all;
    all.push_back(exercise_of("hq=2 hkv=1 nq=70 nk=45 d=20 dv=24 causal dlse"));
    all.push_back(exercise_of("hq=2 hkv=1 nq=75 nk=90 d=20 dv=24 causal align=top-left dlse"));
    return all;
  }();
  BackwardOnly variant(rung, launch, options);
  bool right = true;
  for (Exercise& exercise : exercises)
    right = exercise.verify(variant).status == Status::passed && right;
  return {std::move(variant.report()), right};
}

}  // namespace flashbook::emulated
