#pragma once

#include <cstdint>
#include <string>

#include "cpu_reference/implementation.hpp"
#include "tests/conformance/outputs.hpp"
#include "tests/conformance/problem_spec.hpp"
#include "tests/conformance/storage.hpp"

/// Inputs and cotangents of a problem, from a recipe and a seed, and room for what comes out.
namespace flashbook::conformance {

/// Inputs and cotangents as the recipe says. All that no visible pair needs is NaN: gaps between
/// strides, slack, queries that see nothing and their dO, keys nobody sees, bias of hidden pairs.
class Data {
 public:
  Data(const ProblemSpec& spec, std::uint64_t seed);

  Inputs inputs() const;
  Cotangents cotangents() const;

  /// Names of the tensors whose memory, gaps and guard bands included, differs from `other`'s.
  std::string differences(const Data& other) const;

 private:
  void plant(Planted planted);

  flashbook_problem fields_;
  Storage q_, k_, v_, bias_, alibi_, sinks_, grad_o_, grad_lse_;
};

/// Guarded room for the outputs and gradients of a problem, all NaN at first.
class Results {
 public:
  explicit Results(const AttentionProblem& problem);

  Outputs outputs();
  Gradients gradients();
  const Storage& operator[](Output output) const { return storage_[output]; }

 private:
  static Storage make(const AttentionProblem& problem, Output output);

  flashbook_problem fields_;
  PerOutput<Storage> storage_;
};

/// What the memory of an output shows: elements that were not written, others that were; or
/// nothing.
std::string find_misplaced_writes(const Storage& storage, Output output);

}  // namespace flashbook::conformance
