#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "cpu_reference/error.hpp"
#include "cuda/api/implementations.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "tests/conformance/large.hpp"
#include "walkthrough/kernel_run.hpp"
#include "walkthrough/orders/recording.hpp"
#include "walkthrough/progress.hpp"

namespace flashbook::orders {
namespace {

constexpr std::uint64_t seed = 1;

conformance::ProblemSpec spec_of(std::int64_t tokens, std::int64_t heads) {
  flashbook_problem p = dense_problem(1, heads, heads, tokens, tokens, width, width);
  p.dtype = static_cast<std::int32_t>(DType::bf16);
  return {AttentionProblem(p), {}};
}

std::span<const Order> orders_on(Machine machine) {
  if (machine == Machine::cpu) return emulated::orders::all();
#ifdef FLASHBOOK_HAS_SM_90A
  return gpu::orders::all();
#else
  return {};
#endif
}

/// Of two cycles that are less than 2^31 apart, counted modulo 2^32.
std::uint32_t earlier(std::uint32_t a, std::uint32_t b) {
  return b - a < std::uint32_t{1} << 31 ? a : b;
}

/// One kernel's call, which knows where its stamps are.
class StampedCall {
 public:
  StampedCall(const ForwardKernel& kernel, const AttentionProblem& problem,
              const conformance::Data& data, conformance::Results& results, Device& device)
      : most_(most_stamps(problem->n_k / tile_keys)),
        device_(device),
        call_(noting(kernel), problem, data.inputs(), results.outputs(), device) {}

  /// Of each consumer, from the block's first on, in a launch of their own.
  std::vector<Stamps> launch() {
    call_.launch();
    device_.finish();
    std::vector<std::byte> bytes(consumers * most_ * sizeof(Stamp));
    device_.copy_out(bytes.data(), stamps_, bytes.size());
    std::vector<Stamps> all;
    for (int i = 0; i < consumers; ++i) all.push_back(stamps_of(bytes, i));
    const std::uint32_t first = earlier(all[0].front().cycles, all[1].front().cycles);
    for (Stamps& stamps : all)
      for (Stamp& stamp : stamps) stamp.cycles -= first;
    return all;
  }
  void copy_back() const { call_.copy_back(); }

 private:
  ForwardPass noting(const ForwardKernel& kernel) {
    ForwardPass pass(kernel);
    pass.launch = [this, launch = pass.launch](const flashbook_problem& problem,
                                               const flashbook_forward_tensors& tensors,
                                               void* workspace, void* stream) {
      stamps_ = workspace;
      launch(problem, tensors, workspace, stream);
    };
    return pass;
  }
  Stamps stamps_of(const std::vector<std::byte>& bytes, int consumer) const {
    Stamps stamps;
    for (std::size_t i = 0; i < most_; ++i) {
      Stamp stamp;
      const std::size_t at = (static_cast<std::size_t>(consumer) * most_ + i) * sizeof stamp;
      std::memcpy(&stamp, &bytes[at], sizeof stamp);
      stamps.push_back(stamp);
      if (stamp.phase == Phase::done) return stamps;
    }
    throw std::runtime_error("a consumer has not written its last stamp");
  }

  std::size_t most_;
  Device& device_;
  void* stamps_ = nullptr;
  ForwardCall call_;
};

std::uint32_t cycles_of(const std::vector<Stamps>& block) {
  return std::max(block[0].back().cycles, block[1].back().cycles);
}

/// The launch of median length among `launches`, after as many that only warm up.
std::vector<Stamps> median_launch(StampedCall& call, int launches) {
  std::vector<std::vector<Stamps>> all;
  for (int i = 0; i < launches - 1; ++i) call.launch();
  for (int i = 0; i < launches; ++i) all.push_back(call.launch());
  const auto middle = all.begin() + launches / 2;
  std::nth_element(all.begin(), middle, all.end(),
                   [](const auto& a, const auto& b) { return cycles_of(a) < cycles_of(b); });
  return *middle;
}

void require_right(const Order& order, const conformance::ProblemSpec& spec,
                   const conformance::Data& data, const conformance::Results& results) {
  const KernelPair pair = {order.name, &order.stamped, nullptr};
  const Properties properties = KernelAttention(pair, Machine::cpu, nullptr).properties();
  const conformance::Judgement judgement =
      conformance::judge_run(spec, seed, data, results, properties, true, false);
  if (!judgement.faults.empty())
    throw std::runtime_error(std::string(order.name) + ": " + judgement.faults.front());
}

OrderRecording record_order(const Order& order, Machine machine,
                            const conformance::ProblemSpec& spec, const conformance::Data& data) {
  const int launches = machine == Machine::gpu ? 11 : 1;
  const std::unique_ptr<Device> device = make_device(machine, {});
  OrderRecording recording = {order.name, order.what};
  for (const ForwardKernel* kernel : {&order.timed, &order.stamped}) {
    conformance::Results results(spec.problem);
    StampedCall call(*kernel, spec.problem, data, results, *device);
    recording.consumers = median_launch(call, launches);
    if (kernel == &order.timed) recording.timed_cycles = cycles_of(recording.consumers);
    call.copy_back();
    require_right(order, spec, data, results);
  }
  return recording;
}

}  // namespace

Recording record(Machine machine, std::int64_t tokens, std::int64_t heads) {
  Recording recording = {machine, "", "", tokens, heads};
  if (machine == Machine::gpu) {
    const Gpu gpu = find_gpu();
    if (!gpu.missing.empty()) throw InputError(gpu.missing);
    recording.gpu = gpu.name;
    recording.driver = gpu.driver;
  }
  const conformance::ProblemSpec spec = spec_of(tokens, heads);
  const std::span<const Order> orders = orders_on(machine);
  if (orders.empty() || !orders.front().stamped.refusal(spec.problem.fields()).empty())
    throw InputError(orders.empty()
                         ? "this build has no kernels for sm_90a: build where nvcc is, or pass "
                           "--on cpu"
                         : orders.front().stamped.refusal(spec.problem.fields()));
  const conformance::Data data(spec, seed);
  for (const Order& order : orders) {
    const Progress progress(std::string("recording ") + order.name);
    recording.orders.push_back(record_order(order, machine, spec, data));
  }
  return recording;
}

}  // namespace flashbook::orders
