#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"

/// The judge for runs whose problem may be too large to compute exactly as a whole.
namespace flashbook::conformance {

struct Judgement {
  std::vector<OutputReport> outputs;
  std::vector<std::string> faults;  ///< one sentence each; empty: passed
  /// What was looked at, if not everything: "48 rows and 48 keys of …".
  std::string sampled;
};

/// Judges what calls on one problem's data wrote. What is expected is computed when it is first
/// asked for, and kept for the next call with the same arithmetic.
///
/// A problem of more than `most_pairs` pairs of a query and a key is judged by a sample. Rows of O,
/// LSE and dQ: blocks of 16, the first, the last and others drawn with the data's seed, by all
/// gates. Keys, for dK and dV: blocks of 16, by gate 1, and from the LSE and O that were computed,
/// which is why it is done only if their sampled rows passed. Such a problem has no bias, ALiBi or
/// sinks; packed, its members leave no slack and only rows are judged; and a materialised path's dK
/// and dV are not looked at.
class RunJudge {
 public:
  /// What the tensors are in must outlive this.
  RunJudge(const AttentionProblem& problem, std::uint64_t seed, const Inputs& inputs,
           const Cotangents& cotangents);
  ~RunJudge();

  /// Judges the outputs that are `asked` for. Where dK and dV are, `results` hold the O and LSE
  /// they were computed from, which are then looked at, too.
  Judgement judge(const Results& results, const Properties& properties,
                  const std::vector<Output>& asked);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Judges one call: O and LSE if `forward`, dQ, dK and dV if `backward`, and that every element of
/// these was written and nothing else.
Judgement judge_run(const ProblemSpec& spec, std::uint64_t seed, const Data& data,
                    const Results& results, const Properties& properties, bool forward,
                    bool backward);

inline constexpr Index most_pairs = Index{1} << 22;

}  // namespace flashbook::conformance
