#include "tests/conformance/suite.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/support.hpp"

namespace flashbook::conformance {
namespace {

bool has_nan(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

}  // namespace

std::string_view name(Status status) {
  constexpr std::string_view names[] = {"passed", "failed", "skipped", "refused"};
  return names[static_cast<std::size_t>(status)];
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/';
  });
  if (is_plain) return text;
  std::string word = "'";
  for (char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string command_for(const std::string& chosen, const ProblemSpec& spec, std::uint64_t seed) {
  return "flashbook verify " + chosen + " --problem \"" + format_problem(spec) + "\" --seed " +
         std::to_string(seed);
}

void CaseReport::fail(std::string reason) {
  status = Status::failed;
  reasons.push_back(std::move(reason));
}

struct Exercise::State {
  State(std::string case_name, const ProblemSpec& the_spec, std::uint64_t the_seed,
        const Inputs* given)
      : name(std::move(case_name)),
        spec(the_spec),
        seed(the_seed),
        data(spec, seed),
        inputs(given ? *given : data.inputs()),
        is_given(given != nullptr) {}

  const Expectation& expectation(const Arithmetic& arithmetic) {
    for (const auto& known : expectations)
      if (known->arithmetic == arithmetic) return *known;
    expectations.push_back(
        std::make_unique<Expectation>(expect(spec.problem, inputs, data.cotangents(), arithmetic)));
    return *expectations.back();
  }

  /// Whether NaN or Inf is among what some pair sees; a caller's tensors may hold what they like.
  bool may_hold_nan() const { return is_given || spec.recipe.planted != Planted::none; }
  const PerOutput<double>& errors_of_standard(const Expectation& expected);
  std::string command(const std::string& implementation) const;
  void try_out(const Implementation& implementation, const Expectation& expected,
               CaseReport& report);

  std::string name;
  ProblemSpec spec;
  std::uint64_t seed;
  Data data;
  Inputs inputs;
  bool is_given;  // by the caller, not from the recipe
  std::vector<std::unique_ptr<Expectation>> expectations;
  std::optional<PerOutput<double>> standard_errors;
};

std::string Exercise::State::command(const std::string& implementation) const {
  if (is_given) return {};
  return command_for("--impl " + shell_word(implementation), spec, seed);
}

/// Largest error of standard attention in the problem's dtype; 0 where it means nothing.
const PerOutput<double>& Exercise::State::errors_of_standard(const Expectation& expected) {
  if (standard_errors) return *standard_errors;
  standard_errors.emplace(PerOutput<double>{});
  const DType dtype = spec.problem.dtype();
  if (dtype != DType::fp16 && dtype != DType::bf16) return *standard_errors;
  Results results(spec.problem);
  const StandardAttention standard;
  standard.forward(spec.problem, inputs, results.outputs());
  standard.backward(spec.problem, inputs, results.outputs(), data.cotangents(),
                    results.gradients());
  for (Output output : all_outputs) {
    const double error =
        judge(expected, output, shape(spec.problem, output), results[output].numbers(), {})
            .largest_error;
    (*standard_errors)[output] = std::isfinite(error) ? error : 0;
  }
  return *standard_errors;
}

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

/// The same number, sign of zero included, or NaN both.
bool is_same(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

/// One implementation on one exercise.
class Trial {
 public:
  /// Runs on a copy of the data, so that what writes to its inputs harms itself alone; a caller's
  /// tensors (`given`) are read where they are.
  Trial(const Implementation& implementation, const AttentionProblem& problem, const Data& data,
        const Inputs* given, CaseReport& report)
      : implementation_(implementation),
        problem_(problem),
        pristine_(data),
        data_(data),
        inputs_(given ? *given : data_.inputs()),
        cotangents_(data_.cotangents()),
        report_(report),
        first_(problem),
        second_(problem) {}

  /// Runs both passes twice, checks what needs no oracle, and returns the outputs to judge.
  std::vector<Output> run() {
    const std::vector<Output> judged = run_passes();
    for (Output output : judged) {
      std::string misplaced = find_misplaced_writes(first_[output], output);
      if (misplaced.empty()) {
        misplaced = find_misplaced_writes(second_[output], output);
        if (!misplaced.empty()) misplaced += " when it ran again";
      }
      if (!misplaced.empty()) fail(std::move(misplaced));
    }
    if (const std::string changed = data_.differences(pristine_); !changed.empty())
      fail("it wrote to its inputs: " + changed);
    return judged;
  }

  const Results& results() const { return first_; }

 private:
  std::vector<Output> run_passes() {
    std::vector<Output> judged;
    if (!is_taken(Pass::forward)) return judged;
    for (Results* results : {&first_, &second_})
      implementation_.forward(problem_, inputs_, results->outputs());
    judged = {Output::O, Output::LSE};
    for (Output output : judged) check_repeats(output);
    if (problem_->packed && problem_->members > 1)
      for (Index b = 0; b < problem_->members; ++b) check_alone(problem_.member(b));
    if (!is_taken(Pass::backward)) return judged;
    const auto saved_O = first_[Output::O].bytes(), saved_lse = first_[Output::LSE].bytes();
    for (Results* results : {&first_, &second_})
      implementation_.backward(problem_, inputs_, results->outputs(), cotangents_,
                               results->gradients());
    if (first_[Output::O].bytes() != saved_O || first_[Output::LSE].bytes() != saved_lse)
      fail("backward wrote to O or LSE, which it reads");
    // dBias and dSinks sum over queries, as dK and dV do.
    const Properties properties = implementation_.properties();
    if (properties.deterministic_dq) check_repeats(Output::dQ);
    if (properties.deterministic_dkv)
      for (Output output : {Output::dK, Output::dV, Output::dBias, Output::dSinks})
        check_repeats(output);
    for (Output output : all_outputs)
      if (is_gradient(output) && first_[output].layout().size() > 0) judged.push_back(output);
    return judged;
  }

  /// Whether the implementation takes the pass; says so, and compares with the support table.
  bool is_taken(Pass pass) {
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
  void check_alone(const Member& m) {
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

  void check_repeats(Output output) {
    if (first_[output].bytes() != second_[output].bytes())
      fail(std::string(name(output)) + " differs between two runs on the same inputs");
  }

  void fail(std::string reason) { report_.fail(std::move(reason)); }

  const Implementation& implementation_;
  const AttentionProblem& problem_;
  const Data& pristine_;
  Data data_;
  Inputs inputs_;
  Cotangents cotangents_;
  CaseReport& report_;
  Results first_, second_;
};

}  // namespace

/// Runs the implementation and judges what it wrote.
void Exercise::State::try_out(const Implementation& implementation, const Expectation& expected,
                              CaseReport& report) {
  PerOutput<std::vector<char>> may_be_nan;
  if (const auto tile = implementation.properties().nan_spreads_within)
    may_be_nan = nan_reach(spec.problem, inputs, data.cotangents(), *tile);
  Trial trial(implementation, spec.problem, data, is_given ? &inputs : nullptr, report);
  for (Output output : trial.run()) {
    OutputReport judged = {output,
                           judge(expected, output, shape(spec.problem, output),
                                 trial.results()[output].numbers(), may_be_nan[output]),
                           std::nullopt};
    for (std::string& fault : faults_of(output, judged.margins)) report.fail(std::move(fault));
    if (const double standard = errors_of_standard(expected)[output]; standard > 0)
      judged.ratio_to_standard = judged.margins.largest_error / standard;
    report.outputs.push_back(std::move(judged));
  }
}

Exercise::Exercise(const Case& the_case, std::uint64_t seed)
    : state_(std::make_unique<State>(the_case.name, the_case.spec, seed, nullptr)) {}
Exercise::Exercise(std::string name, const AttentionProblem& problem, const Inputs& inputs,
                   std::uint64_t seed)
    : state_(std::make_unique<State>(std::move(name), ProblemSpec{problem, {}}, seed, &inputs)) {}
Exercise::~Exercise() = default;
Exercise::Exercise(Exercise&&) noexcept = default;

CaseReport Exercise::verify(const Implementation& implementation) {
  CaseReport report;
  report.implementation = implementation.name();
  report.case_name = state_->name;
  report.dtype = state_->spec.problem.dtype();
  report.command = state_->command(report.implementation);
  const Expectation& expected =
      state_->expectation(arithmetic_of(report.dtype, implementation.properties()));
  if (!expected.overflow.empty()) {
    report.status = Status::skipped;
    report.reasons.push_back(expected.overflow);
    return report;
  }
  if (!state_->may_hold_nan())
    for (Output output : all_outputs)
      if (has_nan(expected.exact[output]))
        report.fail(std::string("the oracle's ") + std::string(name(output)) +
                    " holds NaN, though nothing that is seen does: the oracle is wrong");
  try {
    state_->try_out(implementation, expected, report);
  } catch (const std::bad_alloc&) {
    throw;  // too large a problem is no fault of the implementation
  } catch (const std::exception& error) {
    report.fail(std::string("it threw: ") + error.what());
  }
  return report;
}

CaseReport verify(const Implementation& implementation, const Case& the_case, std::uint64_t seed) {
  return Exercise(the_case, seed).verify(implementation);
}

CaseReport verify_tensors(const Implementation& implementation, std::string name,
                          const AttentionProblem& problem, const Inputs& inputs,
                          std::uint64_t seed) {
  return Exercise(std::move(name), problem, inputs, seed).verify(implementation);
}

std::vector<CaseReport> verify_all(std::span<const std::unique_ptr<Implementation>> implementations,
                                   std::span<const Case> cases, std::uint64_t seed,
                                   const Progress& progress) {
  const std::size_t per_case = implementations.size(), total = per_case * cases.size();
  std::vector<CaseReport> reports(total);
  std::size_t done = 0;
  std::exception_ptr thrown;  // an exception may not leave a parallel loop
#pragma omp parallel for schedule(dynamic)
  for (std::size_t c = 0; c < cases.size(); ++c) {
    try {
      Exercise exercise(cases[c], seed);
      for (std::size_t i = 0; i < per_case; ++i) {
        CaseReport& report = reports[c * per_case + i] = exercise.verify(*implementations[i]);
#pragma omp critical(flashbook_verify_progress)
        if (++done; progress) progress(done, total, report);
      }
    } catch (...) {
#pragma omp critical(flashbook_verify_thrown)
      if (!thrown) thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  return reports;
}

}  // namespace flashbook::conformance
