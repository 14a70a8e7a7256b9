#include "walkthrough/plugin/verify_plugin.hpp"

#include <poll.h>

#include <algorithm>
#include <list>
#include <new>
#include <optional>
#include <thread>

#include "cpu_reference/error.hpp"
#include "walkthrough/plugin/library.hpp"
#include "walkthrough/plugin/worker.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook::plugin {
namespace {

using conformance::CaseReport;

constexpr std::size_t most_time_outs = 5;

/// The processes at work on one plug-in, and what they have reported.
class Session {
 public:
  Session(const Task& task, double timeout, const conformance::Progress& progress)
      : task_(task), timeout_(timeout), progress_(progress), reports_(task.cases.size()) {}

  Verdict run() {
    workers_.emplace_back(task_, timeout_);
    while (!workers_.empty() && time_outs_ < most_time_outs) wait_for_messages();
    return verdict();
  }

 private:
  using Position = std::list<Worker>::iterator;

  void wait_for_messages() {
    std::vector<pollfd> sockets;
    std::vector<Position> now;  // others join while these are listened to
    for (Position each = workers_.begin(); each != workers_.end(); ++each) {
      sockets.push_back({each->channel().socket(), POLLIN, 0});
      now.push_back(each);
    }
    ::poll(sockets.data(), sockets.size(), milliseconds_left());
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (sockets[i].revents != 0)
        listen(now[i]);
      else if (Clock::now() > now[i]->deadline())
        give_up(now[i]);
    }
  }

  int milliseconds_left() const {
    Clock::time_point first = workers_.front().deadline();
    for (const Worker& each : workers_) first = std::min(first, each.deadline());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1000));
  }

  void listen(Position worker) {
    if (!worker->channel().fill()) return bury(worker);
    while (worker->channel().has_message()) {
      const nlohmann::json message = *worker->channel().receive();
      if (message.contains("refused")) throw InputError(message["refused"].get<std::string>());
      if (message.contains("no_memory")) throw std::bad_alloc();
      const std::optional<std::size_t> number = worker->at_work_on();
      worker->note(message);
      if (message.contains("loaded")) greet(message["loaded"]);
      if (message.contains("report")) add(*number, case_report(message["report"]));
      if (message.contains("loaded") || message.contains("report"))
        if (!employ(*worker)) return void(workers_.erase(worker));
    }
  }

  /// The first one loaded the plug-in: there may be others now.
  void greet(const nlohmann::json& loaded) {
    if (!name_.empty()) return;
    name_ = loaded["name"];
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t wanted = loaded["on_gpu"] ? 1 : std::min(processors, task_.cases.size());
    while (workers_.size() < wanted) workers_.emplace_back(task_, timeout_);
  }

  /// Gives it the next case, if there is one.
  bool employ(Worker& worker) {
    if (next_ == task_.cases.size()) return false;
    worker.give(next_++);
    return true;
  }

  void bury(Position worker) {
    const std::optional<std::size_t> number = worker->at_work_on();
    const std::string how = worker->how_it_ended();
    if (!number) throw InputError("--plugin is '" + task_.path + "': while it was loaded, " + how);
    fail(worker, *number, how);
  }

  void give_up(Position worker) {
    const std::optional<std::size_t> number = worker->at_work_on();
    const std::string why = worker->what_takes_too_long();
    if (!number) throw InputError("--plugin is '" + task_.path + "': loading it does not end");
    ++time_outs_;
    fail(worker, *number, why);
  }

  /// Its case failed with it; another one takes its place.
  void fail(Position worker, std::size_t number, const std::string& why) {
    CaseReport report;
    report.dtype = task_.cases[number].spec.problem.dtype();
    report.fail(why);
    add(number, std::move(report));
    workers_.erase(worker);
    if (next_ < task_.cases.size()) workers_.emplace_back(task_, timeout_);
  }

  void add(std::size_t number, CaseReport report) {
    const conformance::Case& the_case = task_.cases[number];
    report.implementation = name_;
    report.case_name = the_case.name;
    report.command =
        command_for("--plugin " + conformance::shell_word(task_.path), the_case.spec, task_.seed);
    reports_[number] = std::move(report);
    if (++done_; progress_) progress_(done_, reports_.size(), *reports_[number]);
  }

  Verdict verdict() {
    Verdict verdict = {name_, {}, {}};
    for (std::optional<CaseReport>& each : reports_)
      if (each) verdict.reports.push_back(std::move(*each));
    if (done_ < reports_.size())
      verdict.stopped = "after " + std::to_string(time_outs_) + " calls that did not return, " +
                        std::to_string(reports_.size() - done_) + " cases were not run";
    return verdict;
  }

  const Task& task_;
  double timeout_;
  const conformance::Progress& progress_;
  std::string name_;
  std::list<Worker> workers_;
  std::vector<std::optional<CaseReport>> reports_;
  std::size_t next_ = 0, done_ = 0, time_outs_ = 0;
};

}  // namespace

Verdict verify_plugin(const Task& task, double timeout, const conformance::Progress& progress) {
  const Library library(task.path);
  Task loaded = task;
  loaded.library = library.path();
  return Session(loaded, timeout, progress).run();
}

}  // namespace flashbook::plugin
