#include "walkthrough/plugin/work.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "cpu_reference/standard.hpp"
#include "tests/conformance/suite.hpp"
#include "walkthrough/plugin/channel.hpp"
#include "walkthrough/plugin/load.hpp"
#include "walkthrough/plugin/python_attention.hpp"
#include "walkthrough/plugin/surroundings.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook::plugin {
namespace {

using conformance::CaseReport;
using conformance::Output;

/// The plug-in as the suite sees it: each call announced to the parent, and a forward pass lent by
/// the oracle to one that has none.
class Watched : public Implementation {
 public:
  Watched(const Loaded& plugin, const Channel& parent, Surroundings& surroundings)
      : plugin_(plugin), parent_(parent), surroundings_(surroundings) {}

  /// Not one of ours, whatever it calls itself: the support table is of ours.
  std::string name() const override { return "plugin." + inner().name(); }
  Properties properties() const override { return inner().properties(); }
  Support supports_forward(const AttentionProblem& problem) const override {
    if (!plugin_.has_forward) return supports_backward(problem);
    return run("supports_forward", [&] { return inner().supports_forward(problem); });
  }
  Support supports_backward(const AttentionProblem& problem) const override {
    return run("supports_backward", [&] { return inner().supports_backward(problem); });
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
    Call(const Channel& parent, Surroundings& surroundings, const char* function)
        : parent_(parent), surroundings_(surroundings) {
      parent_.send({{"calling", function}});
      surroundings_.enter();
    }
    ~Call() {
      surroundings_.leave();
      parent_.send({{"returned", true}});
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    const Channel& parent_;
    Surroundings& surroundings_;
  };

  /// That memory ran out is the plug-in's failure, and not the suite's.
  template <class Work>
  std::invoke_result_t<Work> run(const char* function, Work&& work) const {
    const Call call(parent_, surroundings_, function);
    try {
      return work();
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("it ran out of memory");
    } catch (const PythonError& error) {
      parent_.send({{"raised", {{"error", error.what()}, {"frames", error.frames}}}});
      throw;
    }
  }

  const Implementation& inner() const { return *plugin_.implementation; }

  const Loaded& plugin_;
  const Channel& parent_;
  Surroundings& surroundings_;
};

/// The oracle's O and LSE are no merit of a plug-in that has no forward pass.
void forget_forward(CaseReport& report) {
  auto& outputs = report.outputs;
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const auto& each) { return !is_gradient(each.output); }),
                outputs.end());
}

/// Where memory runs out, the system ends this process, and not one that is dear to somebody.
void offer_to_be_killed() {
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

/// What it prints does not get between the lines of ours, and what it reads is nobody's; a crash
/// leaves no file and is not caught, and it does not outlive the parent. One thread: the other
/// processors have processes like it.
void become_a_worker() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC); nothing > 0)
    ::dup2(nothing, STDIN_FILENO);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  omp_set_num_threads(1);
  offer_to_be_killed();
}

void judge_cases(const Task& task, Channel& parent, CrashSite& site) {
  Surroundings surroundings;
  const Loaded plugin = load(task.path, task.library, site);
  surroundings.leave();
  const Watched watched(plugin, parent, surroundings);
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

void work(int socket, const Task& task, CrashSite& site) {
  become_a_worker();
  site.watch();
  Channel parent(socket);
  try {
    judge_cases(task, parent, site);
  } catch (const nlohmann::json::exception&) {
    std::_Exit(lost_socket);
  } catch (const std::bad_alloc&) {
    parent.send({{"no_memory", true}});
  } catch (const std::exception& error) {  // InputError, or no pipe to Python
    parent.send({{"refused", error.what()}});
  }
  std::_Exit(lost_socket);
}

}  // namespace flashbook::plugin
