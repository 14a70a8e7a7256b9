// Both builds of every rung in one program. Where there is no GPU it says so, and has tested that.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "cpu_reference/error.hpp"
#include "cuda/api/device_memory.hpp"
#include "cuda/api/implementations.hpp"
#include "tests/conformance/data.hpp"
#include "tests/conformance/suite.hpp"

namespace flashbook {
namespace {

using namespace conformance;

/// Half a unit in the last place of 1: what one rounding may change.
double roundoff(DType dtype) {
  return dtype == DType::fp16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
}

/// What an implementation makes of a case.
Results computed(const Implementation& implementation, const Case& each) {
  const AttentionProblem& problem = each.spec.problem;
  const Data data(each.spec, 1);
  Results results(problem);
  implementation.forward(problem, data.inputs(), results.outputs());
  implementation.backward(problem, data.inputs(), results.outputs(), data.cotangents(),
                          results.gradients());
  return results;
}

double largest(const std::vector<double>& numbers) {
  double most = 0;
  for (const double x : numbers)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}

/// What an output's errors are measured by: its largest number, or that of all gradients. A row of
/// one key has dS = P (dP - D) = 0, of which the machines' roundings are all there is.
double scale_of(const Results& results, Output output) {
  if (output == Output::O || output == Output::LSE) return largest(results[output].numbers());
  double most = 0;
  for (Output gradient : {Output::dQ, Output::dK, Output::dV})
    most = std::max(most, largest(results[gradient].numbers()));
  return most;
}

/// The index of the first element in which two machines' results differ by more than `tolerance`,
/// or their size if there is none. The machines run one source: they differ in e^x, in
/// multiply-adds that a compiler fuses, in the order in which a tensor core adds, and in what P and
/// dS then round to.
std::size_t first_difference(const std::vector<double>& a, const std::vector<double>& b,
                             double tolerance) {
  REQUIRE(a.size() == b.size());
  const auto agree = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance;
  };
  std::size_t i = 0;
  while (i < a.size() && agree(a[i], b[i])) ++i;
  return i;
}

TEST_CASE("results that differ are found") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  CHECK(first_difference({4, nan, -inf}, {4 + 0x1p-10, nan, -inf}, 0x1p-7) == 3);
  CHECK(first_difference({4, 1}, {4, 1.01}, 0x1p-7) == 1);
  CHECK(first_difference({4, nan}, {4, 1}, 0x1p-7) == 1);
  CHECK(first_difference({4, 1}, {4, nan}, 0x1p-7) == 1);
  CHECK(first_difference({4, -inf}, {4, inf}, 0x1p-7) == 1);
}

TEST_CASE("without a GPU every call says so") {
  const Gpu gpu = find_gpu();
  if (gpu.missing.empty()) return;
  MESSAGE("no GPU: " << gpu.missing);
  CHECK(gpu.missing.find("--on cpu") != std::string::npos);
  CHECK_THROWS_AS(gpu_device(), InputError);
}

TEST_CASE("the machines have the same kernels") {
  if (gpu_pairs().empty()) {
    CHECK_FALSE(find_gpu().missing.empty());  // built without nvcc
    return;
  }
  const auto is_hopper_only = [](const KernelPair& pair) {
    return pair.forward->properties.hopper_only;
  };
  const bool has_hopper = std::any_of(gpu_pairs().begin(), gpu_pairs().end(), is_hopper_only);
  const auto hopper =
      std::count_if(emulated_pairs().begin(), emulated_pairs().end(), is_hopper_only);
  REQUIRE(gpu_pairs().size() + (has_hopper ? 0 : static_cast<std::size_t>(hopper)) ==
          emulated_pairs().size());
  for (std::size_t i = 0; i < gpu_pairs().size(); ++i) {
    const KernelPair &a = emulated_pairs()[i], &b = gpu_pairs()[i];
    CHECK(std::string(a.name) == b.name);
    CHECK((a.forward == nullptr) == (b.forward == nullptr));
    CHECK((a.backward == nullptr) == (b.backward == nullptr));
  }
}

TEST_CASE("a launch that throws while it is timed leaves the device usable") {
  if (!find_gpu().missing.empty()) {
    MESSAGE("skipped: no GPU");
    return;
  }
  const std::unique_ptr<Device> device = gpu_device();
  int launches = 0;
  const std::function<void()> throwing = [&] {
    if (++launches == 3) throw std::runtime_error("no third launch");  // the graph's first
  };
  CHECK_THROWS_WITH(device->seconds({&throwing, 1}), "no third launch");
  const DeviceMemory memory(*device, "later memory", 256);
  CHECK(memory.read().size() == 256);
}

TEST_CASE("both machines compute the same, and what the GPU computes passes the suite") {
  if (!find_gpu().missing.empty()) {
    MESSAGE("skipped: no GPU");
    return;
  }
  simt::Options options;
  options.count = false;
  const auto emulated = emulated_implementations(options), gpu = gpu_implementations();
  for (const Case& each : matching_cases("sanitize/*")) {
    const DType dtype = each.spec.problem.dtype();
    Exercise exercise(each, 1);
    for (std::size_t i = 0; i < gpu.size(); ++i) {
      const CaseReport report = exercise.verify(*gpu[i]);
      CAPTURE(report.command);
      const std::string reason = report.reasons.empty() ? "" : report.reasons.front();
      CAPTURE(reason);
      CHECK(report.status != Status::failed);
      CHECK((report.status == Status::refused) ==
            !emulated[i]->supports_forward(each.spec.problem));
      if (report.status == Status::refused) continue;
      const Results a = computed(*emulated[i], each), b = computed(*gpu[i], each);
      for (Output output : all_outputs) {
        CAPTURE(std::string(name(output)));
        const std::vector<double> of_a = a[output].numbers(), of_b = b[output].numbers();
        // In fp32 sums of up to 256 terms in two orders; in 16 bits those hide in the last
        // rounding.
        const double roundings = dtype == DType::fp32 ? 64 : 4;
        const double tolerance = roundings * roundoff(dtype) * scale_of(a, output);
        CHECK(first_difference(of_a, of_b, tolerance) == of_a.size());
      }
    }
  }
}

}  // namespace
}  // namespace flashbook
