#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"
#include "tests/conformance/outputs.hpp"

/// What a correct implementation may be wrong by: the three gates.
///
/// Gate 1 bounds every element; gate 2 the root mean square of each output's error by what an ideal
/// kernel's permitted roundings cause; gate 3 the part of the error that is systematic. Formulas
/// and calibration: docs/gates.md, whose symbols are used here as names.
namespace flashbook::conformance {

/// The arithmetic an implementation declares, as the formulas name it.
struct Arithmetic {
  DType dtype;
  double upsilon;  ///< υ, unit roundoff of the accumulator
  double u;        ///< unit roundoff of inputs, P, dS and outputs
  double eta;  ///< η, half the smallest subnormal, or the smallest normal where it may be flushed
  double eps_exp, eps_tanh;
  bool materialised;

  /// Summing n terms in any order, with a few roundings more for rescaling and splitting.
  double gamma(double n) const { return (n + 16) * upsilon; }
  /// w: what storing S, P, dP and dS adds.
  double w() const { return materialised ? u : 0; }

  bool operator==(const Arithmetic&) const = default;
};

/// fp64 has υ = u = 2⁻⁵³ and gate 1 alone, doubled because the oracle computes in double, too.
Arithmetic arithmetic_of(DType dtype, const Properties& properties);

/// A direction an error may have: the output itself (a wrong gain), or what a wrong Δ adds to dQ.
struct Direction {
  std::string name;  ///< "O", "dQ", "dK", "dV" or "Δ"
  Output output;
  std::vector<double> G;
  double limit;  ///< of |⟨error, G⟩ / ⟨G, G⟩|
};

/// Exact results of one problem on one set of data, and what may differ from them.
struct Expectation {
  Arithmetic arithmetic;
  Numbers exact;
  Numbers tolerance;                           ///< gate 1; 0 where the result must be exact
  PerOutput<std::optional<double>> rms_limit;  ///< gate 2; absent where it does not apply
  std::vector<Direction> directions;           ///< gate 3
  /// Why the materialised path cannot hold an intermediate in its dtype; empty if it can.
  std::string overflow;
};

Expectation expect(const AttentionProblem& problem, const Inputs& inputs,
                   const Cotangents& cotangents, const Arithmetic& arithmetic);
/// The same of what belongs to rows, O, LSE and dQ: for a few rows of many keys, whose dK and dV
/// would take most of the time and memory.
Expectation expect_rows(const AttentionProblem& problem, const Inputs& inputs,
                        const Cotangents& cotangents, const Arithmetic& arithmetic);

}  // namespace flashbook::conformance
