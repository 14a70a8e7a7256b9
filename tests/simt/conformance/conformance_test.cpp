#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <sstream>

#include "tests/simt/conformance/host_probes.hpp"
#include "tests/simt/conformance/run_probes.cuh"

// Every instruction of cuda/isa on the emulator against what GPUs gave, and mma against numbers.

using namespace flashbook;
using probes::Dump;
using probes::Result;
using probes::Words;

namespace {

const std::vector<Result>& emulated_results() {
  static const std::vector<Result> results = [] {
    probes::HostMemory memory;
    simt::Stream stream;
    emulated::ProbeRun<probes::HostMemory> run(memory, &stream);
    return run.all();
  }();
  return results;
}

const Words& emulated_words(const std::string& probe) {
  const auto& all = emulated_results();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Result& r) { return r.probe == probe; });
  REQUIRE(found != all.end());
  return found->words;
}

/// The largest |a - b| / (sum |a b| + |c|) over the results of the random products.
double largest_error(const Words& words, const Words& others, probes::Type type) {
  const auto products = make_products(type, probes::Values::random);
  double largest = 0;
  for (int p = 0; p < probes::products; ++p)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        const auto& x = products[static_cast<std::size_t>(p)];
        double scale = std::abs(x.C[i][j]);
        for (int k = 0; k < 16; ++k) scale += std::abs(double{x.A[i][k]} * x.B[k][j]);
        const double error =
            double{probes::element_of(words, p, i, j)} - probes::element_of(others, p, i, j);
        const double relative = std::abs(error) / scale;
        largest = relative <= largest ? largest : relative;  // NaN stays
      }
  return largest;
}

/// The largest relative error of the results of exp2; infinite if infinities or zeros do not agree.
double largest_exp2_error(const Words& words, const Words& others) {
  double largest = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const float x = std::bit_cast<float>(words[i]), y = std::bit_cast<float>(others[i]);
    if (words[i] == others[i] || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(double{x} - y) / std::abs(double{y});
    largest = error <= largest ? largest : error;
  }
  return largest;
}

bool is_random_mma(const std::string& probe) {
  return probe == "mma_fp16_random" || probe == "mma_bf16_random";
}

void compare(const Result& device) {
  CAPTURE(device.probe);
  const Words& words = emulated_words(device.probe);
  REQUIRE(words.size() == device.words.size());
  if (is_random_mma(device.probe)) {
    const auto type = device.probe == "mma_fp16_random" ? probes::Type::fp16 : probes::Type::bf16;
    CHECK(largest_error(words, device.words, type) <= 0x1p-21);
  } else if (device.probe == "exp2") {
    CHECK(largest_exp2_error(words, device.words) <= 0x1p-22);
  } else {
    CHECK(words == device.words);
  }
}

}  // namespace

TEST_CASE("every instruction gives what a GPU gave") {
  const auto dumps = probes::read_dumps(FLASHBOOK_DUMPS);
  if (dumps.empty())
    MESSAGE("skipped: no dump of a GPU is in " FLASHBOOK_DUMPS
            "; dump_instructions (tests/simt/conformance/generate.cu) makes one");
  for (const Dump& dump : dumps) {
    CAPTURE(dump.device);
    CHECK(dump.results.size() + dump.failed.size() == emulated_results().size());
    for (const std::string& probe : dump.failed) MESSAGE(probe << " ended in an error there");
    for (const Result& device : dump.results) compare(device);
  }
}

TEST_CASE("mma multiplies: integers exactly, random numbers to 2^-21 of the sum of magnitudes") {
  for (const auto type : {probes::Type::fp16, probes::Type::bf16})
    for (const auto values : {probes::Values::integers, probes::Values::random}) {
      const auto products = make_products(type, values);
      const std::string name = std::string("mma_") +
                               (type == probes::Type::fp16 ? "fp16" : "bf16") +
                               (values == probes::Values::integers ? "_integers" : "_random");
      const Words& words = emulated_words(name);
      bool right = true;
      for (int p = 0; p < probes::products; ++p)
        for (int i = 0; i < 16; ++i)
          for (int j = 0; j < 8; ++j) {
            const auto& x = products[static_cast<std::size_t>(p)];
            double exact = x.C[i][j], scale = std::abs(exact);
            for (int k = 0; k < 16; ++k) {
              exact += double{x.A[i][k]} * x.B[k][j];
              scale += std::abs(double{x.A[i][k]} * x.B[k][j]);
            }
            const double tolerance = values == probes::Values::integers ? 0 : 0x1p-21 * scale;
            right = right && std::abs(probes::element_of(words, p, i, j) - exact) <= tolerance;
          }
      CHECK(right);
    }
}

TEST_CASE("a dump survives its text") {
  const Dump dump = {
      "NVIDIA X, sm_00", {{"a", {1, 0xffffffffu, 0}}, {"b", {}}, {"c", Words(40, 7)}}, {"d"}};
  std::stringstream text;
  write(text, dump);
  const Dump again = probes::read_dump(text);
  CHECK(again.device == dump.device);
  CHECK(again.failed == dump.failed);
  REQUIRE(again.results.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(again.results[i].probe == dump.results[i].probe);
    CHECK(again.results[i].words == dump.results[i].words);
  }
  std::istringstream broken("device x\nprobe a 3\n1 2\n");
  CHECK_THROWS_AS(probes::read_dump(broken), std::runtime_error);
}

namespace {

/// Four probes, each of which may end the process it runs in.
void run_four(probes::Reporter& reporter, void (*third)()) {
  for (const unsigned i : {0u, 1u, 2u, 3u}) {
    if (!reporter.begin("probe_" + std::to_string(i))) continue;
    if (i == 1) throw std::runtime_error("probe_1 throws");
    if (i == 2) third();
    reporter.end({"probe_" + std::to_string(i), Words(20000, i)});
  }
}

}  // namespace

TEST_CASE("a probe that throws, ends its process or hangs costs no other") {
  for (void (*third)() : {+[] { _exit(0); }, +[] { kill(getpid(), SIGKILL); }, +[] { pause(); }}) {
    const Dump dump = probes::dump_in_children(
        [third](probes::Reporter& reporter) { run_four(reporter, third); }, 1);
    REQUIRE(dump.results.size() == 2);
    CHECK(dump.results[0].words == Words(20000, 0));
    CHECK(dump.results[1].probe == "probe_3");
    CHECK(dump.failed == std::vector<std::string>{"probe_1", "probe_2"});
  }
}

TEST_CASE("children that begin no probe are not started for ever") {
  const auto fail = [](probes::Reporter&) { throw std::runtime_error("no GPU"); };
  CHECK_THROWS_WITH_AS(probes::dump_in_children(fail, 1), "no probe could be begun",
                       std::runtime_error);
}
