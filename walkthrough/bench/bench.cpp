#include "walkthrough/bench/bench.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/conformance/large.hpp"

namespace flashbook::bench {
namespace {

using namespace conformance;

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double spread(const std::vector<double>& times) {
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return (*most - *least) / median(times);
}

double largest_margin(const Judgement& judgement) {
  double most = 0;
  for (const OutputReport& report : judgement.outputs) {
    const double used = report.margins.largest();
    if (!std::isnan(most) && !(used <= most)) most = used;
  }
  return most;
}

/// A row to be filled in, and the times of its contestant.
struct Timed {
  Row row;
  Entry entry;
  std::vector<double> times;
};

void fail(Row& row, const std::string& why) {
  row.note = why;
  row.failed = true;
}

/// One more time, unless it has failed already.
void time_once(Timed& timed) {
  if (!timed.entry.contestant || timed.row.failed) return;
  try {
    timed.times.push_back(timed.entry.contestant->seconds());
  } catch (const std::runtime_error& error) {
    fail(timed.row, error.what());
  }
}

void judge_result(Timed& timed, RunJudge& judge, Results& room) {
  if (!timed.entry.contestant || timed.row.failed) return;
  try {
    const Judgement judgement = judge.judge(timed.entry.contestant->results(room),
                                            timed.entry.properties, timed.entry.judged);
    if (!judgement.faults.empty()) return fail(timed.row, judgement.faults.front());
    timed.row.margin = largest_margin(judgement);
    timed.row.seconds = median(timed.times);
    timed.row.spread = spread(timed.times);
  } catch (const std::runtime_error& error) {
    fail(timed.row, error.what());
  }
}

std::vector<Timed> gather(const Task& task, const std::vector<Team*>& teams,
                          const Options& options) {
  std::vector<Timed> all;
  for (Team* team : teams)
    for (Entry& entry : team->enter(task, options.wanted)) {
      Row row = {entry.impl, task.pass, task.problem.dtype(), task.shape, {}, {}, {}, {},
                 {},         false};
      row.note = entry.why_not;
      row.failed = entry.failed;
      all.push_back({std::move(row), std::move(entry), {}});
    }
  return all;
}

}  // namespace

std::vector<Row> bench(const Task& task, const std::vector<Team*>& teams, const Gemm& gemm,
                       const Options& options) {
  const std::string where = std::string(name(task.pass)) + ", " + text_of(task.shape);
  options.progress(where);
  std::vector<Timed> all = gather(task, teams, options);
  std::vector<double> gemm_times;
  for (int round = 0; round < options.rounds; ++round) {
    options.progress(where + ", round " + std::to_string(round + 1));
    if (gemm.repeated) {
      gemm.repeated->settle();
      gemm_times.push_back(gemm.repeated->seconds());
    }
    for (Timed& timed : all) time_once(timed);
  }
  options.progress(where + ", judging");
  RunJudge judge(task.problem, Tensors::seed, task.tensors.inputs(), task.tensors.cotangents());
  Results room(task.problem);
  std::vector<Row> rows;
  for (Timed& timed : all) {
    judge_result(timed, judge, room);
    timed.entry.contestant.reset();
    if (gemm.repeated) timed.row.gemm_flops = gemm.flops / median(gemm_times);
    rows.push_back(std::move(timed.row));
  }
  return rows;
}

}  // namespace flashbook::bench
