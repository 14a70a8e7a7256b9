#include "walkthrough/timing.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "cuda/api/implementations.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "tests/conformance/data.hpp"

namespace flashbook {
namespace {

using conformance::Data;
using conformance::Results;

/// By the host's clock.
double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median_seconds(const std::function<void()>& work) {
  constexpr std::size_t times = 31;
  std::vector<double> seconds(times);
  for (double& each : seconds) each = seconds_of(work);
  std::nth_element(seconds.begin(), seconds.begin() + times / 2, seconds.end());
  return seconds[times / 2];
}

std::vector<TimedWay> time_ways(Device& device, std::span<const std::function<void()>> launches) {
  const auto& launch = launches.front();
  const auto launch_and_wait = [&] {
    launch();
    device.finish();
  };
  std::vector<TimedWay> ways;
  ways.push_back({"the first call", "loads the kernel, too", seconds_of(launch_and_wait)});
  ways.push_back({"without waiting", "until it is started, not done", seconds_of(launch)});
  device.finish();
  ways.push_back(
      {"call, wait, median of 31", "the way there and back, too", median_seconds(launch_and_wait)});
  ways.push_back(
      {"many in a graph, same tensors", "they lie in a cache", device.seconds(launches.first(1))});
  ways.push_back({"many in a graph, by turns", "the kernel", device.seconds(launches)});
  return ways;
}

}  // namespace

Timing time_in_many_ways(const ForwardKernel& kernel, const conformance::ProblemSpec& spec,
                         Machine machine, std::uint64_t seed) {
  const AttentionProblem& problem = spec.problem;
  const Data data(spec, seed);
  Results results(problem);
  simt::Options options;
  options.count = options.check = false;
  const std::unique_ptr<Device> device = make_device(machine, options);

  std::vector<std::unique_ptr<ForwardCall>> calls;
  std::vector<std::function<void()>> launches;
  for (std::size_t i = 0; i < calls_past_the_cache(problem); ++i) {
    calls.push_back(
        std::make_unique<ForwardCall>(kernel, problem, data.inputs(), results.outputs(), *device));
    launches.push_back([&call = *calls.back()] { call.launch(); });
  }
  Timing timing = {machine == Machine::cpu ? "the emulator" : find_gpu().name,
                   kernel.name,
                   format_problem(spec),
                   time_ways(*device, launches),
                   {}};

  const KernelAttention judged({kernel.name, &kernel, nullptr}, machine, nullptr);
  for (const auto& call : calls) {
    call->copy_back();
    const auto judgement = judge_run(spec, seed, data, results, judged.properties(), true, false);
    timing.faults.insert(timing.faults.end(), judgement.faults.begin(), judgement.faults.end());
  }
  return timing;
}

}  // namespace flashbook
