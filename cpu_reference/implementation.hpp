#pragma once

#include <optional>
#include <string>

#include "cpu_reference/attention_problem.hpp"

namespace flashbook {

/// What attention reads. Elements have the problem's dtype and lie as its strides say; a tensor
/// the problem does not have is null.
struct Inputs {
  const void* q;      ///< [B, N_q, H_q, d]
  const void* k;      ///< [B, N_k, H_kv, d]
  const void* v;      ///< [B, N_k, H_kv, d_v]
  const void* bias;   ///< broadcast to [B, H_q, N_q, N_k]
  const void* alibi;  ///< slopes, [H_q] or [members, H_q], contiguous
  const void* sinks;  ///< logits, [H_q], contiguous
};

/// What the forward pass writes, and the backward pass reads again.
struct Outputs {
  void* o;    ///< [B, N_q, H_q, d_v]
  void* lse;  ///< natural log, [B, H_q, N_q] contiguous; fp32, or fp64 for fp64
};

/// Gradients of a loss with respect to the outputs.
struct Cotangents {
  const void* o;    ///< dO, [B, N_q, H_q, d_v], strides grad_o
  const void* lse;  ///< dLSE, as the LSE; null unless has_dlse
};

/// What the backward pass writes. A gradient of a tensor the problem does not have is null.
struct Gradients {
  void* q;      ///< strides grad_q
  void* k;      ///< strides grad_k
  void* v;      ///< strides grad_v
  void* bias;   ///< contiguous, of the bias's own shape: summed where it was broadcast
  void* sinks;  ///< [H_q], contiguous
};

/// Whether an implementation takes a problem; a refusal names the field and what is accepted.
class Support {
 public:
  static Support yes() { return Support{}; }
  static Support no(std::string reason) { return Support{std::move(reason)}; }

  explicit operator bool() const { return !reason_; }
  const std::string& reason() const { return *reason_; }

 private:
  Support() = default;
  explicit Support(std::string reason) : reason_(std::move(reason)) {}
  std::optional<std::string> reason_;
};

struct TileShape {
  std::int64_t rows, columns;  ///< queries, keys
};

/// What the suite must know to judge an implementation by the right gates.
struct Properties {
  /// S, P, dP and dS are stored in the problem's dtype.
  bool materialised = false;
  /// Relative error of its exp, absolute relative error of its tanh.
  double eps_exp = 0x1p-22, eps_tanh = 0x1p-22;
  /// NaN may reach rows that do not see it, but share such a tile of S with rows that do.
  std::optional<TileShape> nan_spreads_within;
  /// Gradients that are bitwise equal from run to run (dBias and dSinks go with dK and dV). Outputs
  /// always are.
  bool deterministic_dq = true, deterministic_dkv = true;
};

/// One way to compute attention, forward and backward. Several threads may call one object at once.
class Implementation {
 public:
  virtual ~Implementation() = default;

  virtual std::string name() const = 0;
  virtual Properties properties() const = 0;
  virtual Support supports_forward(const AttentionProblem& problem) const = 0;
  virtual Support supports_backward(const AttentionProblem& problem) const = 0;

  /// Writes every element of the outputs and nothing else.
  virtual void forward(const AttentionProblem& problem, const Inputs& inputs,
                       const Outputs& outputs) const = 0;
  /// `saved` holds what this implementation's forward pass wrote for the same inputs.
  virtual void backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                        const Cotangents& cotangents, const Gradients& gradients) const = 0;
};

}  // namespace flashbook
