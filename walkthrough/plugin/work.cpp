#include "walkthrough/plugin/work.hpp"

#include <omp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "cpu_reference/error.hpp"
#include "cpu_reference/standard.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/plugin/channel.hpp"
#include "walkthrough/plugin/load.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook::plugin {
namespace {

using conformance::CaseReport;
using conformance::Output;

/// The plug-in as the suite sees it: each call announced to the parent, and a forward pass lent by
/// the oracle to one that has none.
class Watched : public Implementation {
 public:
  Watched(const Loaded& plugin, const Channel& parent) : plugin_(plugin), parent_(parent) {}

  /// Not one of ours, whatever it calls itself: the support table is of ours.
  std::string name() const override { return "plugin." + inner().name(); }
  Properties properties() const override { return inner().properties(); }
  Support supports_forward(const AttentionProblem& problem) const override {
    return plugin_.has_forward ? inner().supports_forward(problem)
                               : inner().supports_backward(problem);
  }
  Support supports_backward(const AttentionProblem& problem) const override {
    return inner().supports_backward(problem);
  }
  void forward(const AttentionProblem& problem, const Inputs& inputs,
               const Outputs& outputs) const override {
    if (!plugin_.has_forward) return Oracle().forward(problem, inputs, outputs);
    run("forward", [&] { inner().forward(problem, inputs, outputs); });
  }
  void backward(const AttentionProblem& problem, const Inputs& inputs, const Outputs& saved,
                const Cotangents& cotangents, const Gradients& gradients) const override {
    run("backward", [&] { inner().backward(problem, inputs, saved, cotangents, gradients); });
  }

 private:
  /// While it lives, the plug-in's code runs.
  class Call {
   public:
    Call(const Channel& parent, const char* pass) : parent_(parent) {
      parent_.send({{"calling", pass}});
    }
    ~Call() { parent_.send({{"returned", true}}); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    const Channel& parent_;
  };

  /// That memory ran out is the plug-in's failure, and not the suite's.
  template <class Pass>
  void run(const char* name, Pass&& pass) const {
    const Call call(parent_, name);
    try {
      pass();
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("it ran out of memory");
    }
  }

  const Implementation& inner() const { return *plugin_.implementation; }

  const Loaded& plugin_;
  const Channel& parent_;
};

/// The oracle's O and LSE are no merit of a plug-in that has no forward pass.
void forget_forward(CaseReport& report) {
  auto& outputs = report.outputs;
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const auto& each) { return !is_gradient(each.output); }),
                outputs.end());
}

/// What it prints does not get between the lines of ours, a crash leaves no file and is not caught,
/// and it does not outlive the parent. One thread: the other processors have processes like it.
void become_a_worker() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  omp_set_num_threads(1);
}

void judge_cases(const Task& task, Channel& parent) {
  const Loaded plugin = load(task.path, task.library);
  const Watched watched(plugin, parent);
  parent.send({{"loaded",
                {{"name", plugin.implementation->name()},
                 {"has_forward", plugin.has_forward},
                 {"on_gpu", plugin.on_gpu}}}});
  while (const auto number = parent.receive()) {
    CaseReport report = verify(watched, task.cases[number->get<std::size_t>()], task.seed);
    if (!plugin.has_forward) forget_forward(report);
    parent.send({{"report", as_json(report)}});
  }
}

}  // namespace

void work(int socket, const Task& task) {
  become_a_worker();
  Channel parent(socket);
  try {
    judge_cases(task, parent);
  } catch (const InputError& error) {
    parent.send({{"refused", error.what()}});
  } catch (const std::bad_alloc&) {
    parent.send({{"no_memory", true}});
  }
  std::_Exit(0);
}

}  // namespace flashbook::plugin
