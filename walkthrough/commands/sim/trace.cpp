#include "sim/io/trace.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/trace_json.hpp"
#include "walkthrough/trace_picture.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;
using io::Trace;

/// A file of about 60 MB.
constexpr Index most_events = 500'000;
constexpr std::size_t most_workers_shown = 8;

/// `sim trace`: what the user asked for.
struct Question {
  std::string algorithm = "fa2_forward", out;
  ProblemOptions problem;
  ScheduleOptions schedule;
  Index workers = 4;
  std::optional<double> gb_per_s, tflop_per_s;
  OutputOptions output;
};

/// Whose multiprocessors the workers are, unless rates are given.
constexpr std::string_view modelled_gpu = "H200";

io::TraceModel model_of(const Question& q) {
  io::TraceModel model =
      multiprocessors_of(*io::find_gpu(modelled_gpu), dtype_of(q.problem.dtype), q.workers);
  model.gb_per_s = q.gb_per_s.value_or(model.gb_per_s);
  model.tflop_per_s = q.tflop_per_s.value_or(model.tflop_per_s);
  return model;
}

/// One worker's part of the run.
struct Work {
  Index tasks = 0, moved_bytes = 0, flops = 0, moving_ns = 0, computing_ns = 0, peak_bytes = 0;
};

std::vector<Work> work_of(const Trace& trace) {
  std::vector<Work> workers(static_cast<std::size_t>(trace.model.workers));
  const auto of = [&](Index worker) -> Work& { return workers[static_cast<std::size_t>(worker)]; };
  for (const Trace::Task& task : trace.tasks) ++of(task.worker).tasks;
  for (const Trace::Move& move : trace.moves) {
    of(move.worker).moved_bytes += move.bytes;
    of(move.worker).moving_ns += move.duration_ns;
  }
  for (const Trace::Product& product : trace.products) {
    of(product.worker).flops += product.flops;
    of(product.worker).computing_ns += product.duration_ns;
  }
  for (const Trace::Residency& r : trace.residency)
    of(r.worker).peak_bytes = std::max(of(r.worker).peak_bytes, r.bytes);
  return workers;
}

[[noreturn]] void refuse_events(const std::string& how_many) {
  throw InputError("--n, --batch and --heads make a trace of " + how_many +
                   " events, and a viewer opens " + std::to_string(most_events) +
                   ": lower them, or pass larger tiles (--br, --bc)");
}

/// Runs what was asked for. Throws InputError if that is too much to run or to look at.
io::TraceRecorder record(const Question& q, const io::Algorithm& algorithm,
                         const AttentionProblem& problem, const io::Schedule& schedule) {
  io::TraceRecorder recorder(model_of(q), most_events);
  const io::Report formula = closed_form(algorithm, problem, schedule);
  check_executable(problem, formula);
  // Every visited tile of S is at least a product and a tile's life of three events.
  if (formula.visited_tiles > most_events / 4)
    refuse_events("more than " + std::to_string(4 * formula.visited_tiles));
  const Progress progress("sim trace");
  progress.show("running " + q.algorithm);
  io::RunOptions options = {schedule};
  options.sram_bytes = q.schedule.sram_bytes.value_or(io::Sram::unlimited);
  options.listener = &recorder;
  run_on_random(algorithm, problem, options);
  if (!recorder.complete()) refuse_events(std::to_string(recorder.events()));
  return recorder;
}

Records records_of(const Trace& trace) {
  Records records = {{"worker", "tasks", "moved_bytes", "flops", "moving_ns", "computing_ns",
                      "idle_ns", "peak_sram_bytes"},
                     {}};
  Index worker = 0;
  for (const Work& w : work_of(trace))
    records.rows.push_back({worker++, w.tasks, w.moved_bytes, w.flops, w.moving_ns, w.computing_ns,
                            trace.duration_ns - w.moving_ns - w.computing_ns, w.peak_bytes});
  return records;
}

std::string title(const Question& q, const io::Algorithm& algorithm, const io::Schedule& schedule) {
  const std::string text = q.algorithm + ", " + q.problem.text();
  return algorithm.takes.blocks ? text + ", tiles of S " + text_of(schedule.blocks) : text;
}

std::string workers_table(const Trace& trace) {
  std::vector<std::vector<std::string>> rows = {
      {"worker", "tasks", "moved", "FLOPs", "moving", "computing", "idle", "peak SRAM"}};
  const std::vector<Work> workers = work_of(trace);
  for (std::size_t i = 0; i < std::min(workers.size(), most_workers_shown); ++i) {
    const Work& w = workers[i];
    const auto share = [&](Index ns) {
      return percent(static_cast<double>(ns) / static_cast<double>(trace.duration_ns));
    };
    rows.push_back({std::to_string(i), std::to_string(w.tasks), short_bytes(w.moved_bytes),
                    short_flops(w.flops), share(w.moving_ns), share(w.computing_ns),
                    share(trace.duration_ns - w.moving_ns - w.computing_ns),
                    short_bytes(w.peak_bytes)});
  }
  std::string text = table(rows);
  if (workers.size() > most_workers_shown)
    text += "  … and " + std::to_string(workers.size() - most_workers_shown) + " more\n";
  return text;
}

void print(const Question& q, const std::string& run, const io::TraceRecorder& recorder) {
  const Trace& trace = recorder.trace();
  std::cout << run << "\nExecuted: every move, product and tile is of a real run. The clock is a "
            << "model:\n"
            << trace.model.workers << " workers, each " << short_number(trace.model.gb_per_s)
            << " GB/s and " << short_number(trace.model.tflop_per_s)
            << " TFLOP/s, doing one thing at a time; "
            << short_seconds(1e-9 * static_cast<double>(trace.duration_ns)) << "\n\n"
            << workers_table(trace) << "\n"
            << trace_picture(trace, 0) << "\n"
            << recorder.events() << " events";
  if (q.out.empty())
    std::cout << ". Pass --out trace.json to keep them, and open that file at\n"
              << "https://ui.perfetto.dev or chrome://tracing: nothing is uploaded.\n";
  else
    std::cout << " in " << q.out << ": open it at https://ui.perfetto.dev\n"
              << "or chrome://tracing; nothing is uploaded.\n";
}

void trace(const Question& q) {
  const io::Algorithm& algorithm = io::find_algorithm(q.algorithm);
  const AttentionProblem problem = q.problem.problem();
  const io::Schedule schedule = q.schedule.schedule(algorithm, problem);
  q.output.check();
  if (!q.out.empty()) check_writable("--out", q.out);

  const io::TraceRecorder recorder = record(q, algorithm, problem, schedule);
  const std::string run = title(q, algorithm, schedule);
  const Records records = records_of(recorder.trace());
  if (!q.out.empty()) write_file("--out", q.out, chrome_trace(recorder.trace(), run));
  q.output.write(records);
  if (!q.output.json) return print(q, run, recorder);
  const nlohmann::ordered_json out = {{"run", run},
                                      {"source", "executed"},
                                      {"events", recorder.events()},
                                      {"duration_ns", recorder.trace().duration_ns},
                                      {"gb_per_s", recorder.trace().model.gb_per_s},
                                      {"tflop_per_s", recorder.trace().model.tflop_per_s},
                                      {"rows", as_json(records)}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_trace(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "trace", "every tile move of a run in time, as a file for the Perfetto trace viewer");
  const auto q = std::make_shared<Question>();
  verb->add_option("--algorithm", q->algorithm, algorithm_names())->capture_default_str();
  q->problem.add_to(*verb, false);
  q->schedule.add_to(*verb);
  verb->add_option("--workers", q->workers, "multiprocessors that the tasks are shared among")
      ->capture_default_str();
  const std::string share = " (without it: an " + std::string(modelled_gpu) + " multiprocessor's";
  verb->add_option("--gbps", q->gb_per_s,
                   "GB/s of one worker's path to HBM" + share + " share of DRAM)");
  verb->add_option("--tflops", q->tflop_per_s,
                   "TFLOP/s of one worker's products" + share + ", in this --dtype)");
  verb->add_option("--out", q->out, "writes the trace to this file (Chrome's JSON format)");
  q->output.add_to(*verb, false);
  verb->callback([q] { trace(*q); });
}

}  // namespace flashbook
