#include "tests/conformance/fuzz/fuzz.hpp"

#include <omp.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "cpu_reference/parallel.hpp"
#include "tests/conformance/fuzz/shrink.hpp"

namespace flashbook::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t more_data = 3;  // sets of it that must confirm a statistical failure

Case case_of(const Draft& draft) {
  return {"fuzz", spec_of(draft)};
}

/// Whether nothing but gates 2 and 3 failed.
bool is_statistical(const CaseReport& report) {
  std::size_t statistical = 0;
  for (const OutputReport& output : report.outputs)
    statistical +=
        !(output.margins.gate2.value_or(0) <= 1) + !(output.margins.gate3.value_or(0) <= 1);
  return report.status == Status::failed && report.reasons.size() == statistical;
}

/// Whether a failure is one on more sets of data, too, if gates 2 and 3 alone failed.
bool is_confirmed(const CaseReport& report, const Implementation& implementation,
                  const Draft& draft, std::uint64_t data_seed) {
  if (!is_statistical(report)) return report.status == Status::failed;
  for (std::uint64_t other = data_seed + 1; other <= data_seed + more_data; ++other)
    if (verify(implementation, case_of(draft), other).status != Status::failed) return false;
  return true;
}

/// One fuzzing session, which threads share.
class Session {
 public:
  Session(const Contestants& contestants, std::uint64_t seed, const FuzzLimits& limits,
          const FuzzProgress& progress)
      : contestants_(contestants),
        seed_(seed),
        limits_(limits),
        progress_(progress),
        end_(limits.problems) {}

  /// Takes numbers in turn until none is left. A failure lets the smaller numbers, which are all
  /// taken, come to their end: the smallest that fails does not depend on chance.
  void work(bool shows_progress) {
    FuzzReport mine;
    double shown = 0;
    while (!is_over()) {
      const std::uint64_t number = next_++;
      if (number >= end_) break;
      judge(number, mine);
      ++mine.problems;
      if (!shows_progress || !progress_ || seconds() - shown < 0.1) continue;
      progress_(next_, shown = seconds());
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.problems += mine.problems;
    report_.chances += mine.chances;
    for (std::size_t i = 0; i < mine.runs.size(); ++i) report_.runs[i] += mine.runs[i];
  }

  FuzzReport finish() {
    if (report_.failure) shrink_failure(*report_.failure);
    report_.seconds = seconds();
    return std::move(report_);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_over() const { return seconds() >= limits_.seconds; }

  std::vector<std::unique_ptr<Implementation>> contestants_of(std::uint64_t data_seed) const {
    Draws draws(data_seed + 1);
    return contestants_(draws);
  }

  void judge(std::uint64_t number, FuzzReport& mine) {
    const auto [data_seed, draft] = fuzz_problem(seed_, number);
    Exercise exercise(case_of(draft), data_seed);
    for (const auto& implementation : contestants_of(data_seed)) {
      CaseReport report = exercise.verify(*implementation);
      const bool is_confirmed =
          conformance::is_confirmed(report, *implementation, draft, data_seed);
      const bool is_chance = report.status == Status::failed && !is_confirmed;
      mine.chances += is_chance;
      ++mine.runs[static_cast<std::size_t>(is_chance ? Status::passed : report.status)];
      if (is_confirmed) return keep({number, std::move(report), {}});
    }
  }

  void keep(FuzzFailure failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (report_.failure && report_.failure->number < failure.number) return;
    end_ = failure.number;
    report_.failure = std::move(failure);
  }

  void shrink_failure(FuzzFailure& failure) const {
    const FuzzProblem problem = fuzz_problem(seed_, failure.number);
    for (const auto& implementation : contestants_of(problem.data_seed)) {
      if (implementation->name() != failure.found.implementation) continue;
      const auto report_of = [&](const Draft& draft) {
        return verify(*implementation, case_of(draft), problem.data_seed);
      };
      failure.shrunk = report_of(shrink(problem.draft, [&](const Draft& draft) {
        return is_confirmed(report_of(draft), *implementation, draft, problem.data_seed);
      }));
    }
  }

  const Contestants& contestants_;
  const std::uint64_t seed_;
  const FuzzLimits& limits_;
  const FuzzProgress& progress_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> next_ = 0, end_;
  std::mutex mutex_;
  FuzzReport report_;
};

}  // namespace

FuzzProblem fuzz_problem(std::uint64_t seed, std::uint64_t number) {
  constexpr std::uint64_t stream = (1 << 20) + 1;
  const auto data_seed = static_cast<std::uint64_t>(uniform(seed, stream, number) * 0x1p53);
  Draws draws(data_seed);
  const SizeLimits limits = draws.chance(1.0 / 64) ? SizeLimits{40, 5, 24} : SizeLimits{};
  return {data_seed, random_draft(draws, limits)};
}

FuzzReport fuzz(const Contestants& contestants, std::uint64_t seed, const FuzzLimits& limits,
                const FuzzProgress& progress) {
  Session session(contestants, seed, limits, progress);
  FirstException exception;
  FuzzReport report;
#pragma omp parallel
  {
    exception.guard([&] { session.work(omp_get_thread_num() == 0); });
#pragma omp barrier
#pragma omp master  // in the region: an implementation on its own would start threads again
    exception.guard([&] { report = session.finish(); });
  }
  exception.rethrow();
  return report;
}

}  // namespace flashbook::conformance
