#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

namespace flashbook {

/// Carries an exception out of a parallel region, which none may leave by itself.
class FirstException {
 public:
  /// Runs `task`, unless one before has thrown.
  template <class Task>
  void guard(const Task& task) noexcept {
    if (has_thrown_) return;
    try {
      task();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      caught_ = std::current_exception();
      has_thrown_ = true;
    }
  }

  /// After the region: throws what was caught, if anything was.
  void rethrow() const {
    if (caught_) std::rethrow_exception(caught_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> has_thrown_ = false;
  std::exception_ptr caught_;  // of those thrown at once, the last
};

/// task(i) for every i in [0, tasks), on all threads. Throws the first exception a task threw.
template <class Task>
void parallel_for(std::int64_t tasks, const Task& task) {
  FirstException exception;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < tasks; ++i) exception.guard([&] { task(i); });
  exception.rethrow();
}

/// As parallel_for; combine(i, compute(i)) runs one at a time and in order, so that sums repeat.
template <class Compute, class Combine>
void parallel_for_ordered(std::int64_t tasks, const Compute& compute, const Combine& combine) {
  FirstException exception;
#pragma omp parallel for schedule(static, 1) ordered
  for (std::int64_t i = 0; i < tasks; ++i) {
    std::optional<decltype(compute(i))> result;
    exception.guard([&] { result.emplace(compute(i)); });
#pragma omp ordered
    exception.guard([&] {
      if (result) combine(i, *result);
    });
  }
  exception.rethrow();
}

}  // namespace flashbook
