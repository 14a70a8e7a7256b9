// The C interface as a C program meets it: layouts, statuses, messages, several callers at once.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cpu_reference/standard.hpp"
#include "cuda/api/plugin.h"
#include "tests/api/flashbook_c99.h"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/support.hpp"

float* make_inputs(std::size_t size) {
  auto* const inputs = static_cast<float*>(std::malloc(size * sizeof(float)));
  for (std::size_t i = 0; i < size; ++i)
    inputs[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  return inputs;
}

namespace {

using namespace flashbook;
using Message = std::array<char, FLASHBOOK_MESSAGE_SIZE>;

flashbook_problem small_problem(double scale = 0.5) {
  flashbook_problem p = flashbook_dense_problem(2, 4, 2, 9, 12, 8, 8);
  p.causal = 1;
  p.scale = scale;
  return p;
}

/// Elements of O, LSE, dQ, dK and dV.
std::size_t size_of_results(const flashbook_problem& p) {
  const std::int64_t queries = p.batch * p.n_q * p.heads_q, keys = p.batch * p.n_k * p.heads_kv;
  return static_cast<std::size_t>(queries * (p.d_v + 1 + p.d) + keys * (p.d + p.d_v));
}

std::vector<float> from_c(const char* name, const flashbook_problem& p) {
  std::vector<float> out(size_of_results(p), NAN);
  Message message{};
  const int status = run_from_c(name, &p, out.data(), message.data());
  CHECK_MESSAGE(status == FLASHBOOK_OK, message.data());
  return out;
}

/// The oracle's results for the same inputs, through C++.
std::vector<float> from_cpp(const flashbook_problem& p) {
  const AttentionProblem problem(p);
  const std::size_t size_q = static_cast<std::size_t>(p.batch * p.n_q * p.heads_q * p.d);
  const std::size_t size_k = static_cast<std::size_t>(p.batch * p.n_k * p.heads_kv * p.d);
  float* const in = make_inputs(2 * size_q + 2 * size_k);
  std::vector<float> out(size_of_results(p), NAN);
  const auto lse_size = static_cast<std::size_t>(problem.lse_size());
  float *o = out.data(), *lse = o + size_q, *dq = lse + lse_size;
  const Inputs inputs = {in, in + size_q, in + size_q + size_k, nullptr, nullptr, nullptr};
  Oracle().forward(problem, inputs, {o, lse});
  Oracle().backward(problem, inputs, {o, lse}, {in + size_q + 2 * size_k, nullptr},
                    {dq, dq + size_q, dq + size_q + size_k, nullptr, nullptr});
  std::free(in);
  return out;
}

/// What a forward pass of one_pass says to a change of a right call.
template <class Change>
std::string complaint(flashbook_status expected, Change&& change) {
  flashbook_problem p = small_problem();
  std::vector<float> memory(4096, 0);
  flashbook_forward_tensors t = {};
  t.size = sizeof t;
  t.q = t.k = t.v = memory.data();
  t.o = memory.data() + 1024, t.lse = memory.data() + 2048;
  change(p, t);
  const flashbook_implementation* const kernel = flashbook_find("cuda.one_pass@cpu");
  Message message{};
  CHECK(kernel->forward(kernel, &p, &t, memory.data() + 3072, nullptr, message.data()) == expected);
  CHECK(kernel->forward(kernel, &p, &t, memory.data() + 3072, nullptr, nullptr) == expected);
  return message.data();
}

bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("C and C++ see the same structs, and a change of one changes the version") {
  const std::size_t in_cpp[] = {
      sizeof(flashbook_forward_tensors),
      offsetof(flashbook_forward_tensors, cu_seqlens_q),
      offsetof(flashbook_forward_tensors, lse),
      sizeof(flashbook_backward_tensors),
      offsetof(flashbook_backward_tensors, o),
      offsetof(flashbook_backward_tensors, grad_sinks),
      sizeof(flashbook_properties),
      offsetof(flashbook_properties, eps_exp),
      sizeof(flashbook_implementation),
      offsetof(flashbook_implementation, state),
      offsetof(flashbook_implementation, properties),
      offsetof(flashbook_implementation, supports_forward),
      offsetof(flashbook_implementation, backward),
  };
  // Of version 1, where pointers have 8 bytes. A plug-in of that version relies on them.
  const std::size_t of_version_1[] = {88, 56, 80, 144, 72, 136, 40, 24, 120, 16, 32, 72, 112};
  REQUIRE(flashbook_c99_interface_size == std::size(in_cpp));
  for (std::size_t i = 0; i < std::size(in_cpp); ++i) {
    CAPTURE(i);
    CHECK(flashbook_c99_interface[i] == in_cpp[i]);
    if (sizeof(void*) == 8) CHECK(in_cpp[i] == of_version_1[i]);
  }
  CHECK(FLASHBOOK_INTERFACE_VERSION == 1);
}

TEST_CASE("implementations are found by name, and each name is one's own") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < flashbook_count(); ++i) {
    const flashbook_implementation* const each = flashbook_at(i);
    CHECK(each->size == sizeof *each);
    CHECK(each->version == FLASHBOOK_INTERFACE_VERSION);
    CHECK(flashbook_find(each->name) == each);
    names.insert(each->name);
  }
  CHECK(names.size() == flashbook_count());
  for (const char* name : {"oracle", "standard", "cuda.standard@cpu", "cuda.tensor_core@cpu"})
    CHECK(names.count(name) == 1);
  CHECK(flashbook_find("cuda.one_pass") == nullptr);
  CHECK(flashbook_find(nullptr) == nullptr);
}

TEST_CASE("both passes from C: the oracle bit for bit, a kernel within the roundings of fp32") {
  const flashbook_problem p = small_problem();
  const std::vector<float> expected = from_cpp(p), oracle = from_c("oracle", p);
  CHECK(oracle == expected);  // NaN in neither
  const std::vector<float> kernel = from_c("cuda.one_pass@cpu", p);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(kernel[i] - expected[i]) <= 1e-5F);
  }
}

TEST_CASE("callers at once have each their own scale or cap, results and message") {
  struct Caller {
    const char* name;
    double scale, softcap;
  };
  constexpr Caller callers[] = {{"cuda.one_pass@cpu", 0.5, 0},
                                {"cuda.one_pass@cpu", -2, 0},
                                {"oracle", 0.5, 0.25},
                                {"oracle", 0.5, 2}};
  constexpr std::size_t count = std::size(callers);
  std::vector<float> alone[count], together[count];
  Message messages[count] = {};
  const auto problem_of = [&](std::size_t n) {
    flashbook_problem p = small_problem(callers[n].scale);
    p.softcap = callers[n].softcap;
    return p;
  };
  for (std::size_t n = 0; n < count; ++n) alone[n] = from_c(callers[n].name, problem_of(n));
  CHECK(alone[0] != alone[1]);
  CHECK(alone[2] != alone[3]);
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < count; ++n)
    threads.emplace_back([&, n] {
      flashbook_problem p = problem_of(n);
      together[n].assign(size_of_results(p), NAN);
      run_from_c(callers[n].name, &p, together[n].data(), messages[n].data());
      p.d = -static_cast<std::int64_t>(n);
      const flashbook_implementation* const each = flashbook_find(callers[n].name);
      each->supports_forward(each, &p, messages[n].data());
    });
  for (std::thread& each : threads) each.join();
  for (std::size_t n = 0; n < count; ++n) {
    CHECK(together[n] == alone[n]);
    CHECK(contains(messages[n].data(), "d is " + std::to_string(-static_cast<std::int64_t>(n))));
  }
}

TEST_CASE("a wrong call has a status, and a sentence that names the argument") {
  using P = flashbook_problem;
  using T = flashbook_forward_tensors;
  CHECK(complaint(FLASHBOOK_OK, [](P&, T&) {}).empty());
  CHECK(
      contains(complaint(FLASHBOOK_INVALID, [](P& p, T&) { p.version = 2; }), "problem.version 2"));
  CHECK(contains(complaint(FLASHBOOK_INVALID, [](P& p, T&) { p.size = 8; }), "problem.size is 8"));
  CHECK(
      contains(complaint(FLASHBOOK_INVALID, [](P&, T& t) { t.size = 40; }), "tensors.size is 40"));
  CHECK(contains(complaint(FLASHBOOK_INVALID, [](P&, T& t) { t.v = nullptr; }), "v is null"));
  CHECK(contains(complaint(FLASHBOOK_INVALID, [](P& p, T&) { p.d = 0; }), "d is 0"));
  CHECK(contains(
      complaint(FLASHBOOK_INVALID, [](P&, T& t) { t.k = static_cast<const char*>(t.k) + 2; }),
      "k is no multiple of the 4 bytes"));
  CHECK(contains(
      complaint(FLASHBOOK_INVALID, [](P&, T& t) { t.lse = static_cast<char*>(t.lse) + 2; }),
      "lse is no multiple of the 4 bytes"));
  CHECK(contains(complaint(FLASHBOOK_INVALID,
                           [](P& p, T&) { p.packed = 1, p.members = std::int64_t{1} << 59; }),
                 "members is 576460752303423488: pass at most"));
  CHECK(
      contains(complaint(FLASHBOOK_REFUSED, [](P& p, T&) { p.softcap = 30; }), "softcap is 30: "));
  CHECK(contains(complaint(FLASHBOOK_REFUSED, [](P& p, T&) { p.dtype = FLASHBOOK_FP64; }),
                 "dtype is fp64"));
}

TEST_CASE(
    "a packed problem is refused by what cannot take it, though its offsets are not asked for") {
  flashbook_problem p = small_problem();
  p.batch = 1, p.packed = 1, p.members = 3;
  for (const char* name : {"oracle", "cuda.one_pass@cpu"}) {
    const flashbook_implementation* const each = flashbook_find(name);
    Message message{};
    const bool is_oracle = std::string(name) == "oracle";
    CHECK(each->supports_forward(each, &p, message.data()) ==
          (is_oracle ? FLASHBOOK_OK : FLASHBOOK_REFUSED));
    CHECK((is_oracle || contains(message.data(), "cu_seqlens")));
  }
}

TEST_CASE("flashbook_takes sees the options that the suite sees, and refuses each by its name") {
  constexpr std::uint32_t everything = 2 * FLASHBOOK_TAKES_STRIDES - 1;
  std::set<std::string> refused;
  for (const conformance::Case& each : conformance::all_cases()) {
    const AttentionProblem& problem = each.spec.problem;
    std::vector<std::string_view> options = conformance::options_of(problem);
    std::erase(options, "no-tma");  // only the copies of our own kernels ask for it
    CAPTURE(each.name);
    CHECK(flashbook_takes(&problem.fields(), everything, nullptr) == FLASHBOOK_OK);
    std::set<std::string> by_name;
    for (std::uint32_t bit = 1; bit <= everything; bit *= 2) {
      Message message{};
      if (flashbook_takes(&problem.fields(), everything & ~bit, message.data()) == FLASHBOOK_OK)
        continue;
      const std::string text = message.data();
      by_name.insert(text.substr(0, text.find(':')));
    }
    CHECK(by_name == std::set<std::string>(options.begin(), options.end()));
    refused.insert(by_name.begin(), by_name.end());
  }
  CHECK(refused.size() == 17);
}
