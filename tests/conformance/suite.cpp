#include "tests/conformance/suite.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/trial.hpp"

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
    report.fail(std::string("it failed: ") + error.what());
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
