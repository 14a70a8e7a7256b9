#pragma once

#include <string>
#include <vector>

#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"

/// The judge for one run whose problem may be too large to compute exactly as a whole.
namespace flashbook::conformance {

struct Judgement {
  std::vector<OutputReport> outputs;
  std::vector<std::string> faults;  ///< one sentence each; empty: passed
  /// What was looked at, if not everything: "48 rows and 48 keys of …".
  std::string sampled;
};

/// Judges what one call wrote to `results`: O and LSE if `forward`, dQ, dK and dV if `backward`.
///
/// A problem of more than `most_pairs` pairs of a query and a key is judged by a sample. Rows of O,
/// LSE and dQ: blocks of 16, the first, the last and others drawn with the data's seed, by all
/// gates. Keys, for dK and dV: blocks of 16, by gate 1, and from the LSE and O that were computed,
/// which is why it is done only if their sampled rows passed. Such a problem is dense and has no
/// bias, ALiBi or sinks, and a materialised path's dK and dV are not looked at.
Judgement judge_run(const ProblemSpec& spec, std::uint64_t seed, const Data& data,
                    const Results& results, const Properties& properties, bool forward,
                    bool backward);

inline constexpr Index most_pairs = Index{1} << 22;

}  // namespace flashbook::conformance
