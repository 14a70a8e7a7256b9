#include "walkthrough/kernel_run.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>

#include "cpu_reference/error.hpp"
#include "cuda/api/implementations.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "tests/conformance/data.hpp"
#include "walkthrough/progress.hpp"

namespace flashbook {
namespace {

using conformance::Data;
using conformance::Results;

std::string known_rungs(std::span<const KernelPair> pairs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const KernelPair& pair : pairs)
    if (pair.forward) add(std::string("forward/") + pair.forward->name);
  for (const KernelPair& pair : pairs)
    if (pair.backward) add(std::string("backward/") + pair.backward->name);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// "forward/one_pass" in its parts; the first is empty if it is not there.
std::pair<std::string, std::string> split(const std::string& kernel) {
  const std::size_t slash = kernel.find('/');
  if (slash == std::string::npos) return {"", kernel};
  return {kernel.substr(0, slash), kernel.substr(slash + 1)};
}

const KernelPair* with_forward(std::span<const KernelPair> pairs, const std::string& name) {
  for (const KernelPair& pair : pairs)
    if (pair.forward && pair.forward->name == name) return &pair;
  return nullptr;
}

const KernelPair* with_backward(std::span<const KernelPair> pairs, const std::string& name,
                                const AttentionProblem& problem) {
  const KernelPair* found = nullptr;
  for (const KernelPair& pair : pairs)
    if (pair.forward && pair.backward && pair.backward->name == name &&
        (!found || pair.forward->refusal(problem.fields()).empty()))
      found = &pair;
  return found;
}

void check_pass(const std::string& pass, const std::string& ladder) {
  if (!pass.empty() && pass != "forward" && pass != "backward" && pass != "both")
    throw InputError("--pass is '" + pass + "': pass forward, backward or both");
  if (!ladder.empty() && !pass.empty() && pass != "both" && pass != ladder)
    throw InputError("--pass is '" + pass + "' and KERNEL a rung of the " + ladder +
                     " ladder: leave --pass out, or pass both");
}

template <class Kernel>
void check_taken(const Kernel* kernel, const char* pass, const AttentionProblem& problem) {
  if (!kernel)
    throw InputError(std::string("there is no ") + pass +
                     " kernel to go with this one: leave --pass out, or name another kernel");
  if (const std::string refusal = kernel->refusal(problem.fields()); !refusal.empty())
    throw InputError(std::string(pass) + "/" + kernel->name +
                     " does not take this problem: " + refusal);
}

/// Launches one pass on a machine and says what came of it.
class Runner {
 public:
  Runner(const KernelRunOptions& options, const AttentionProblem& problem)
      : options_(options), problem_(problem) {}

  /// `make(device)` prepares a call; the last one's results are copied back.
  template <class Make>
  PassRun run(const std::string& pass, const std::string& kernel, const Make& make) const {
    PassRun out = {pass, kernel, std::nullopt, {}, {}, {}};
    try {
      options_.machine == Machine::cpu ? emulate(out, make) : on_gpu(out, make);
    } catch (const std::runtime_error& error) {
      if (out.report.clean()) out.error = error.what();
    }
    return out;
  }

 private:
  template <class Make>
  void emulate(PassRun& out, const Make& make) const {
    const Progress progress("emulating " + out.kernel);
    for (unsigned order = 0; order < options_.warp_orders; ++order) {
      simt::Options options;
      options.seed = order;
      options.count = order == 0;
      if (options_.watch && order == 0) options.watched = 0;
      options.progress = [&](std::uint64_t done, std::uint64_t blocks) {
        progress.show("order of warps " + std::to_string(order + 1) + " of " +
                      std::to_string(options_.warp_orders) + ", " + std::to_string(done) + " of " +
                      std::to_string(blocks) + " blocks");
      };
      EmulatedDevice device(options);
      const auto call = make(device);
      std::string error;
      const std::function<void()> launch = [&] {
        try {
          call->launch();
        } catch (const std::runtime_error& thrown) {
          error = thrown.what();
        }
      };
      const double seconds = device.seconds({&launch, 1});
      if (order == 0) out.seconds = seconds;
      out.report.add(device.report());
      call->copy_back();
      if (!error.empty() && device.report().clean()) out.error = error;
    }
  }

  template <class Make>
  void on_gpu(PassRun& out, const Make& make) const {
    const std::unique_ptr<Device> device = gpu_device();
    const std::size_t copies = options_.once ? 1 : calls_past_the_cache(problem_);
    std::vector<decltype(make(*device))> calls;
    std::vector<std::function<void()>> launches;
    for (std::size_t i = 0; i < copies; ++i) calls.push_back(make(*device));
    for (const auto& call : calls) launches.push_back([&call] { call->launch(); });
    if (options_.once)
      device->profiled(launches.front());
    else
      out.seconds = device->seconds(launches);
    device->finish();
    for (const auto& call : calls) call->copy_back();
  }

  const KernelRunOptions& options_;
  const AttentionProblem& problem_;
};

/// As if only the forward pass were asked for, on a GPU without timing and on the emulator without
/// checks: it is there for its O and LSE.
void compute_saved(const Rungs& rungs, Machine machine, const AttentionProblem& problem,
                   const Inputs& inputs, const Outputs& outputs) {
  simt::Options options;
  options.count = options.check = false;
  const KernelAttention pair(rungs.pair, machine, [&] { return make_device(machine, options); });
  pair.forward(problem, inputs, outputs);
}

/// The kernel's pass, which also says where its inputs lie on the device.
ForwardPass naming(const ForwardKernel& kernel, ring::TensorNames& names) {
  ForwardPass pass(kernel);
  pass.launch = [launch = pass.launch, &names](const flashbook_problem& problem,
                                               const flashbook_forward_tensors& tensors,
                                               void* workspace, void* stream) {
    names.insert({{tensors.q, "Q"}, {tensors.k, "K"}, {tensors.v, "V"}});
    launch(problem, tensors, workspace, stream);
  };
  return pass;
}

}  // namespace

std::unique_ptr<Device> make_device(Machine machine, const simt::Options& options) {
  if (machine == Machine::gpu) return gpu_device();
  return std::make_unique<EmulatedDevice>(options);
}

std::size_t calls_past_the_cache(const AttentionProblem& problem) {
  const flashbook_problem& p = problem.fields();
  const auto elements = p.batch * (p.heads_q * p.n_q + p.heads_kv * p.n_k) * (p.d + p.d_v);
  const auto bytes = static_cast<std::size_t>(elements * bytes_of(problem.dtype()));
  return rotated_sets(bytes);
}

Rungs find_rungs(const std::string& kernel, const std::string& pass, Machine machine,
                 const AttentionProblem& problem) {
  const auto pairs = machine == Machine::cpu ? emulated_pairs() : gpu_pairs();
  const auto [ladder, name] = split(kernel);
  const bool has_ladder = kernel.find('/') != std::string::npos;
  const KernelPair* forward = ladder == "backward" ? nullptr : with_forward(pairs, name);
  const KernelPair* backward = ladder == "forward" ? nullptr : with_backward(pairs, name, problem);
  if ((has_ladder && ladder != "forward" && ladder != "backward") || (!forward && !backward))
    throw InputError("KERNEL is '" + kernel + "': there is no such rung; pass one of " +
                     known_rungs(pairs));
  check_pass(pass, forward || has_ladder ? ladder : "backward");
  const std::string asked = !pass.empty() ? pass : forward ? "forward" : "backward";
  Rungs rungs = {forward && !(asked == "backward" && backward) ? *forward : *backward,
                 asked != "backward", asked != "forward"};
  check_taken(rungs.pair.forward, "forward", problem);
  if (rungs.backward) check_taken(rungs.pair.backward, "backward", problem);
  return rungs;
}

bool KernelRun::failed() const {
  return !judgement.faults.empty() || std::any_of(passes.begin(), passes.end(), [](const auto& p) {
    return !p.error.empty() || !p.report.clean();
  });
}

KernelRun run_kernel(const Rungs& rungs, const conformance::ProblemSpec& spec,
                     const KernelRunOptions& options) {
  const AttentionProblem& problem = spec.problem;
  const Data data(spec, options.seed);
  Results results(problem);
  const Runner runner(options, problem);
  KernelRun run;
  if (rungs.forward) {
    ring::TensorNames names;
    run.passes.push_back(runner.run("forward", rungs.pair.forward->name, [&](Device& device) {
      return std::make_unique<ForwardCall>(naming(*rungs.pair.forward, names), problem,
                                           data.inputs(), results.outputs(), device);
    }));
    run.passes.back().tensors = names;
  } else {
    compute_saved(rungs, options.machine, problem, data.inputs(), results.outputs());
  }
  if (rungs.backward)
    run.passes.push_back(runner.run("backward", rungs.pair.backward->name, [&](Device& device) {
      return std::make_unique<BackwardCall>(*rungs.pair.backward, problem, data.inputs(),
                                            results.outputs(), data.cotangents(),
                                            results.gradients(), device);
    }));
  const Properties properties = KernelAttention(rungs.pair, options.machine, nullptr).properties();
  run.judgement = conformance::judge_run(spec, options.seed, data, results, properties,
                                         rungs.forward, rungs.backward);
  return run;
}

}  // namespace flashbook
