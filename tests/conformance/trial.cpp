#include "tests/conformance/trial.hpp"

#include <optional>
#include <utility>

namespace flashbook::conformance {
namespace {

/// A member of a packed problem as a packed problem of its own, on the same memory.
struct Alone {
  AttentionProblem problem;
  Inputs inputs;

  Alone(const AttentionProblem& together, const Member& m, const Inputs& all)
      : problem(fields(together.fields(), m), {0, m.n_q}, {0, m.n_k}), inputs(all) {
    const flashbook_problem& p = together.fields();
    const auto advance = [item = bytes_of(together.dtype())](const void*& data, Index elements) {
      if (data) data = static_cast<const std::byte*>(data) + elements * item;
    };
    advance(inputs.q, m.first_q * p.q.token);
    advance(inputs.k, m.first_k * p.k.token);
    advance(inputs.v, m.first_k * p.v.token);
    if (p.alibi == FLASHBOOK_ALIBI_BH) advance(inputs.alibi, m.index * p.heads_q);
    if (p.has_bias && p.bias_shape[2] != 1) advance(inputs.bias, m.first_q * p.bias_strides[2]);
    if (p.has_bias && p.bias_shape[3] != 1) advance(inputs.bias, m.first_k * p.bias_strides[3]);
  }

 private:
  static flashbook_problem fields(flashbook_problem p, const Member& m) {
    p.members = 1, p.n_q = m.n_q, p.n_k = m.n_k;
    if (p.has_bias && p.bias_shape[2] != 1) p.bias_shape[2] = m.n_q;
    if (p.has_bias && p.bias_shape[3] != 1) p.bias_shape[3] = m.n_k;
    return p;
  }
};

}  // namespace

Trial::Trial(const Implementation& implementation, const AttentionProblem& problem,
             const Data& data, const Inputs* given, CaseReport& report)
    : implementation_(implementation),
      problem_(problem),
      pristine_(data),
      data_(data),
      inputs_(given ? *given : data_.inputs()),
      cotangents_(data_.cotangents()),
      report_(report),
      first_(problem),
      second_(problem) {}

std::vector<Output> Trial::run() {
  const std::vector<Output> judged = run_passes();
  for (Output output : judged) check_misplaced(output);
  if (const std::string changed = data_.differences(pristine_); !changed.empty())
    fail("it wrote to its inputs: " + changed);
  return judged;
}

std::vector<Output> Trial::run_passes() {
  std::vector<Output> judged;
  if (!is_taken(Pass::forward)) return judged;
  run_forward();
  judged = {Output::O, Output::LSE};
  if (!is_taken(Pass::backward)) return judged;
  run_backward();
  for (Output output : all_outputs)
    if (is_gradient(output) && first_[output].layout().size() > 0) judged.push_back(output);
  return judged;
}

void Trial::run_forward() {
  for (Results* results : {&first_, &second_})
    implementation_.forward(problem_, inputs_, results->outputs());
  for (Output output : {Output::O, Output::LSE}) check_repeats(output);
  if (problem_->packed && problem_->members > 1)
    for (Index b = 0; b < problem_->members; ++b) check_alone(problem_.member(b));
}

void Trial::run_backward() {
  const auto saved_O = first_[Output::O].bytes(), saved_lse = first_[Output::LSE].bytes();
  for (Results* results : {&first_, &second_})
    implementation_.backward(problem_, inputs_, results->outputs(), cotangents_,
                             results->gradients());
  if (first_[Output::O].bytes() != saved_O || first_[Output::LSE].bytes() != saved_lse)
    fail("backward wrote to O or LSE, which it reads");
  const Properties properties = implementation_.properties();
  if (properties.deterministic_dq) check_repeats(Output::dQ);
  if (properties.deterministic_dkv)  // dBias and dSinks sum over queries, as dK and dV do
    for (Output output : {Output::dK, Output::dV, Output::dBias, Output::dSinks})
      check_repeats(output);
}

void Trial::check_misplaced(Output output) {
  std::string misplaced = find_misplaced_writes(first_[output], output);
  if (misplaced.empty()) {
    misplaced = find_misplaced_writes(second_[output], output);
    if (!misplaced.empty()) misplaced += " when it ran again";
  }
  if (!misplaced.empty()) fail(std::move(misplaced));
}

/// Whether the implementation takes the pass; says so, and compares with the support table.
bool Trial::is_taken(Pass pass) {
  const Support support = pass == Pass::forward ? implementation_.supports_forward(problem_)
                                                : implementation_.supports_backward(problem_);
  const std::optional<bool> listed = should_refuse(implementation_.name(), problem_, pass);
  const std::string what(name(pass));
  if (support) {
    if (listed.value_or(false))
      fail(what + " is taken, though the support table says it is refused");
    return true;
  }
  report_.reasons.push_back(what + " is refused: " + support.reason());
  if (pass == Pass::forward && report_.status == Status::passed) report_.status = Status::refused;
  if (listed && !*listed) fail(what + " is refused, which the support table does not list");
  return false;
}

/// O and LSE of a member are, bit for bit, what they are without its neighbours.
void Trial::check_alone(const Member& m) {
  if (m.n_q == 0) return;
  const Alone alone(problem_, m, inputs_);
  if (!implementation_.supports_forward(alone.problem)) return;
  Results results(alone.problem);
  implementation_.forward(alone.problem, alone.inputs, results.outputs());
  const Index heads = problem_->heads_q, channels = problem_->d_v;
  bool same = true;
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < m.n_q; ++i) {
      const auto both_same = [&](Output output, Index in_pack, Index by_itself) {
        return is_same(first_[output].get(in_pack), results[output].get(by_itself));
      };
      const Index token = m.first_q + i;
      same &= both_same(Output::LSE, h * problem_->n_q + token, h * m.n_q + i);
      for (Index c = 0; c < channels; ++c)
        same &= both_same(Output::O, (token * heads + h) * channels + c,
                          (i * heads + h) * channels + c);
    }
  if (!same)
    fail("O or LSE of packed member " + std::to_string(m.index) +
         " differs from what it is without its neighbours");
}

void Trial::check_repeats(Output output) {
  if (!first_[output].is_same_as(second_[output]))
    fail(std::string(name(output)) + " differs between two runs on the same inputs");
}

}  // namespace flashbook::conformance
