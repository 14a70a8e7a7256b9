#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/simt/conformance/host_probes.hpp"
#include "tests/simt/conformance/run_hopper_probes.cuh"

// Every instruction of cuda/isa/hopper.cuh on the emulator against what GPUs gave, and wgmma
// against numbers.

using namespace flashbook;
using probes::Result;
using probes::Words;

namespace {

using Run = emulated::HopperProbeRun<probes::HostMemory>;
constexpr int n = Run::random_n;

const probes::Dump& on_emulator() {
  static const probes::Dump dump = [] {
    probes::HostMemory memory;
    simt::Stream stream;
    Run run(memory, &stream);
    const auto results = run.all();
    return probes::Dump{"the emulator", results, run.failed()};
  }();
  return dump;
}

const Words& emulated_words(const std::string& probe) {
  const auto& all = on_emulator().results;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Result& r) { return r.probe == probe; });
  REQUIRE(found != all.end());
  return found->words;
}

bool is_random(const std::string& probe) {
  return probe.find("_random_") != std::string::npos;
}

probes::WgmmaProblem problem_of(const std::string& probe) {
  const bool fp16 = probe.find("fp16") != std::string::npos;
  return make_wgmma_problem(n, fp16 ? probes::Type::fp16 : probes::Type::bf16,
                            probes::Values::random);
}

/// Of a random product's element: its value, and |c| + sum |a b|.
struct Exact {
  double value, scale;
};
Exact exact(const probes::WgmmaProblem& x, int row, int column) {
  const auto at = [](const std::vector<float>& v, int i) {
    return double{v[static_cast<std::size_t>(i)]};
  };
  Exact sum = {at(x.C, row * n + column), std::abs(at(x.C, row * n + column))};
  for (int k = 0; k < 16; ++k) {
    const double product = at(x.A, row * 64 + k) * at(x.B, k * n + column);
    sum.value += product;
    sum.scale += std::abs(product);
  }
  return sum;
}

/// The largest |difference| / (|c| + sum |a b|) of the words to others, or to the exact values.
double largest_error(const std::string& probe, const Words& words, const Words* others) {
  const auto problem = problem_of(probe);
  double largest = 0;
  for (int i = 0; i < 64 * n; ++i) {
    const auto w = static_cast<std::size_t>(i);
    const auto [row, column] = probes::wgmma_element(i / (n / 2), i % (n / 2));
    const Exact element = exact(problem, row, column);
    const double other = others ? std::bit_cast<float>((*others)[w]) : element.value;
    const double error = std::abs(std::bit_cast<float>(words[w]) - other) / element.scale;
    largest = error <= largest ? largest : error;  // NaN stays
  }
  return largest;
}

void compare(const Result& device) {
  CAPTURE(device.probe);
  const Words& words = emulated_words(device.probe);
  REQUIRE(words.size() == device.words.size());
  if (is_random(device.probe))
    CHECK(largest_error(device.probe, words, &device.words) <= 0x1p-21);
  else
    CHECK(words == device.words);
}

/// The sum of integers that a thread's accumulators hold, hashed as the probe does.
std::uint32_t expected_hash(const probes::WgmmaProblem& x, int thread) {
  std::uint32_t hash = 0;
  for (int i = 0; i < x.n / 2; ++i) {
    const auto [row, column] = probes::wgmma_element(thread, i);
    float sum = x.C[static_cast<std::size_t>(row * x.n + column)];
    for (int k = 0; k < 64; ++k)
      sum += x.A[static_cast<std::size_t>(row * 64 + k)] *
             x.B[static_cast<std::size_t>(k * x.n + column)];
    hash = hash * 0x01000193u + std::bit_cast<std::uint32_t>(sum);
  }
  return hash;
}

}  // namespace

TEST_CASE("every Hopper instruction gives what a GPU gave") {
  const auto dumps = probes::read_dumps(FLASHBOOK_HOPPER_DUMPS);
  REQUIRE(!dumps.empty());
  for (const probes::Dump& dump : dumps) {
    CAPTURE(dump.device);
    CHECK(dump.results.size() == on_emulator().results.size());
    CHECK(dump.failed == on_emulator().failed);
    for (const Result& device : dump.results) compare(device);
  }
}

TEST_CASE("wgmma multiplies: integers exactly, random numbers to 2^-21 of the sum of magnitudes") {
  int random = 0, integers = 0;
  for (const Result& result : on_emulator().results) {
    CAPTURE(result.probe);
    if (is_random(result.probe)) {
      ++random;
      CHECK(largest_error(result.probe, result.words, nullptr) <= 0x1p-21);
    }
    if (result.probe.find("fp16_integers_") == std::string::npos) continue;
    const int columns = std::stoi(result.probe.substr(result.probe.find("integers_") + 9));
    const auto problem = make_wgmma_problem(columns, probes::Type::fp16, probes::Values::integers);
    bool right = true;
    for (int thread = 0; thread < 128; ++thread)
      right =
          right && result.words[static_cast<std::size_t>(thread)] == expected_hash(problem, thread);
    CHECK(right);
    ++integers;
  }
  CHECK(random == 8);
  CHECK(integers == 44);
}
