#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/unit/faulty.hpp"

namespace flashbook::test {

/// A mistake such as a row of docs/faults.md describes: the oracle, wrong only where the row says.
struct PlantedFault {
  const char* id;  ///< of the row
  Faulty::Fault fault;
};

/// Which pairs there are and where they lie: empty rows, masks, members, heads, sizes, strides.
std::vector<PlantedFault> faults_of_place();
/// What is computed of them: magnitudes, scale, LSE, bias, ALiBi, sinks.
std::vector<PlantedFault> faults_of_value();

/// A fault of the calls that `is_hit` holds for.
template <class Hit>
Faulty::Fault where(Hit is_hit, const Faulty::Fault& fault) {
  return [=](const Call& call) {
    if (is_hit(call.problem.fields())) fault(call);
  };
}

/// Refuses to run, as a kernel does that trips over its own check, a deadlock's time-out, a trap.
inline Faulty::Fault stops(const std::function<bool(const Call&)>& is_hit) {
  return [=](const Call& call) {
    if (is_hit(call)) throw std::runtime_error("it stopped");
  };
}

inline Faulty::Fault becomes(Output output, double value) {
  return changed(output, [=](const Call&, double, auto...) { return value; });
}

/// Changes O, or dQ, in the rows that `is_hit(lse)` holds for.
template <class Hit>
Faulty::Fault rows_become(Output output, double value, Hit is_hit) {
  return changed(output, [=](const Call& call, double x, Index b, Index i, Index h, Index) {
    return is_hit(lse_of(call, b, h, i)) ? value : x;
  });
}

}  // namespace flashbook::test
