#include "walkthrough/plugin/verify_plugin.hpp"

#include <poll.h>

#include <algorithm>
#include <list>
#include <new>
#include <optional>
#include <thread>

#include "walkthrough/plugin/interruption.hpp"
#include "walkthrough/plugin/library.hpp"
#include "walkthrough/plugin/refused.hpp"
#include "walkthrough/plugin/worker.hpp"
#include "walkthrough/report_json.hpp"

namespace flashbook::plugin {
namespace {

using conformance::CaseReport;

constexpr std::size_t most_time_outs = 5;

/// The processes at work on one plug-in, and what they have reported.
class Session {
 public:
  Session(const Task& task, double timeout, const conformance::Progress& progress,
          const Interruption& interruption)
      : task_(task),
        timeout_(timeout),
        progress_(progress),
        interruption_(interruption),
        reports_(task.cases.size()) {}

  Verdict run() {
    workers_.emplace_back(task_, timeout_);
    while (!workers_.empty() && time_outs_ < most_time_outs && !is_interrupted_)
      wait_for_messages();
    return verdict();
  }

 private:
  using Position = std::list<Worker>::iterator;

  void wait_for_messages() {
    std::vector<pollfd> files;
    std::vector<Position> now;  // others join while these are listened to
    std::vector<bool> ended;    // asked before: what such a one has said is here by now
    for (Position each = workers_.begin(); each != workers_.end(); ++each) {
      files.push_back({each->channel().socket(), POLLIN, 0});
      now.push_back(each);
      ended.push_back(each->has_ended());
    }
    files.push_back({interruption_.file(), POLLIN, 0});
    ::poll(files.data(), files.size(), milliseconds_left());
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (files[i].revents != 0)
        listen(now[i]);
      else if (ended[i])
        end(now[i], now[i]->how_it_ended());
      else if (Clock::now() > now[i]->deadline())
        give_up(now[i]);
    }
    is_interrupted_ = files.back().revents != 0;
  }

  int milliseconds_left() const {
    Clock::time_point first = workers_.front().deadline();
    for (const Worker& each : workers_) first = std::min(first, each.deadline());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1000));
  }

  /// Any process of the plug-in's can write to the socket, and anything.
  void listen(Position worker) {
    if (!worker->channel().fill()) return end(worker, worker->how_it_ended());
    try {
      while (worker->channel().has_message())
        if (!take(*worker->channel().receive(), *worker)) return void(workers_.erase(worker));
    } catch (const nlohmann::json::exception&) {
      end(worker, used_what_is_not_its_own);
    }
  }

  /// Whether the worker has more to do.
  bool take(const nlohmann::json& message, Worker& worker) {
    if (message.contains("refused")) throw InputError(message["refused"].get<std::string>());
    if (message.contains("no_memory")) throw std::bad_alloc();
    const std::optional<std::size_t> number = worker.at_work_on();
    const bool is_loaded = message.contains("loaded"), is_report = message.contains("report"),
               is_raised = message.contains("raised"),
               is_call = message.contains("calling") || message.contains("returned") || is_raised;
    if (number ? !is_report && !is_call : !is_loaded)
      throw nlohmann::json::other_error::create(500, "out of turn", nullptr);
    worker.note(message);
    if (is_raised) count(message["raised"]);
    if (is_loaded) greet(message["loaded"]);
    if (is_report) add(*number, case_report(message["report"]));
    return is_call || employ(worker);
  }

  /// The first one loaded the plug-in: there may be others now.
  void greet(const nlohmann::json& loaded) {
    if (!name_.empty()) return;
    name_ = loaded["name"];
    const std::size_t processors = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t wanted = loaded["on_gpu"] ? 1 : std::min(processors, task_.cases.size());
    while (workers_.size() < wanted) workers_.emplace_back(task_, timeout_);
  }

  void count(const nlohmann::json& raised) {
    const std::string frames = raised.at("frames");
    const auto known = std::find_if(raised_.begin(), raised_.end(),
                                    [&](const Raised& each) { return each.frames == frames; });
    if (known != raised_.end())
      ++known->times;
    else if (!frames.empty())
      raised_.push_back({frames, raised.at("error"), 1});
  }

  /// Gives it the next case, if there is one.
  bool employ(Worker& worker) {
    if (next_ == task_.cases.size()) return false;
    worker.give(next_++);
    return true;
  }

  /// A worker that is of no use any more, and why.
  void end(Position worker, const std::string& why) {
    if (!worker->at_work_on()) throw refused(task_.path, "while it was loaded, " + why);
    fail(worker, *worker->at_work_on(), why);
  }

  void give_up(Position worker) {
    if (!worker->at_work_on()) throw refused(task_.path, "loading it does not end");
    ++time_outs_;
    fail(worker, *worker->at_work_on(), worker->what_takes_too_long());
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
    Verdict verdict = {name_, {}, {}, raised_};
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
  const Interruption& interruption_;
  bool is_interrupted_ = false;
  std::string name_;
  std::list<Worker> workers_;
  std::vector<std::optional<CaseReport>> reports_;
  std::vector<Raised> raised_;
  std::size_t next_ = 0, done_ = 0, time_outs_ = 0;
};

}  // namespace

Verdict verify_plugin(const Task& task, double timeout, const conformance::Progress& progress) {
  const Interruption interruption;  // first: until all that is made here is removed
  const Library library(task.path);
  Task loaded = task;
  loaded.library = library.path();
  return Session(loaded, timeout, progress, interruption).run();
}

}  // namespace flashbook::plugin
