#include "walkthrough/implementations.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "cuda/api/implementations.hpp"
#include "sim/io/implementations.hpp"

namespace flashbook {
namespace {

const std::string prefix = "cuda.";  // of the kernels' names

/// The schedule of "[16x48]" or, with as many splits as it says, "[16x48/5]", if that is what
/// `text` looks like.
std::optional<io::Schedule> schedule_in(const char* text, const io::Schedule& otherwise) {
  int rows = 0, columns = 0, tail = 0, splits = static_cast<int>(otherwise.splits);
  if (std::sscanf(text, "[%9dx%9d%n/%9d%n", &rows, &columns, &tail, &splits, &tail) < 2)
    return std::nullopt;
  const bool is_whole = std::string_view(text + tail) == "]";
  if (!is_whole || rows < 1 || columns < 1 || splits < 1) return std::nullopt;
  return io::Schedule{{rows, columns}, splits};
}

/// One of io::blocked_pairs() with a schedule of its own, if that is what `name` asks for.
std::unique_ptr<Implementation> scheduled(const std::string& name) {
  for (const io::BlockedPair& pair : io::blocked_pairs()) {
    if (name.rfind(std::string(pair.name) + "[", 0) != 0) continue;
    const auto schedule = schedule_in(name.c_str() + pair.name.size(), pair.schedule);
    if (schedule && (schedule->splits == 1 || io::find_algorithm(pair.forward).takes.splits))
      return std::make_unique<io::Blocked>(pair.name, *schedule);
  }
  return nullptr;
}

/// The kernels called `name`, with or without a machine, if there are any.
std::unique_ptr<Implementation> kernel_called(const std::string& name, const std::string& on) {
  const std::size_t at = name.find('@');
  const std::string family = name.substr(0, at);
  const std::string machine = at != std::string::npos ? name.substr(at + 1)
                              : on.empty()            ? "cpu"
                                                      : on;
  const auto pairs = emulated_pairs();
  if (std::none_of(pairs.begin(), pairs.end(),
                   [&](const KernelPair& pair) { return family == prefix + pair.name; }))
    return nullptr;
  if (!on.empty() && machine != on)
    throw InputError("--impl is '" + name + "' and --on is " + on +
                     ": they name two machines; leave one out");
  for (auto& kernel : kernels_on(machine_called(machine)))
    if (kernel->name() == family + "@" + machine) return std::move(kernel);
  return nullptr;
}

std::string all_names() {
  std::string names;
  for (const auto& implementation : implementations()) names += implementation->name() + ", ";
  for (const KernelPair& pair : emulated_pairs()) names += prefix + pair.name + ", ";
  return names;
}

}  // namespace

Implementations implementations() {
  Implementations all;
  all.push_back(std::make_unique<Oracle>());
  all.push_back(std::make_unique<StandardAttention>());
  all.push_back(std::make_unique<io::Standard>());
  for (const io::BlockedPair& pair : io::blocked_pairs())
    all.push_back(std::make_unique<io::Blocked>(pair.name));
  all.push_back(std::make_unique<io::Blocked>("io.fa2", io::Schedule{{16, 48}}));
  return all;
}

Machine machine_called(const std::string& name) {
  if (name == "cpu") return Machine::cpu;
  if (name == "gpu") return Machine::gpu;
  throw InputError("the machine is '" + name +
                   "': pass cpu, which emulates a GPU, or gpu (--on cpu, or @cpu in a name)");
}

Implementations kernels_on(Machine machine) {
  if (machine == Machine::gpu) {
    if (const Gpu gpu = find_gpu(); !gpu.missing.empty()) throw InputError(gpu.missing);
    return gpu_implementations();
  }
  return emulated_implementations(uncounted());
}

simt::Options uncounted() {
  simt::Options options;
  options.count = false;
  options.os_threads = 1;
  return options;
}

std::unique_ptr<Implementation> find_implementation(const std::string& name,
                                                    const std::string& on) {
  if (auto kernel = kernel_called(name, on)) return kernel;
  if (!on.empty())
    throw InputError("--impl is '" + name + "': there is no such kernel for --on " + on +
                     "; leave --on out, or pass one of " + all_names());
  for (auto& implementation : implementations())
    if (implementation->name() == name) return std::move(implementation);
  if (auto implementation = scheduled(name)) return implementation;
  throw InputError("--impl is '" + name + "': there is no such implementation; pass one of " +
                   all_names() + "or io.fa2[ROWSxKEYS] and its like for blocks of your own");
}

}  // namespace flashbook
