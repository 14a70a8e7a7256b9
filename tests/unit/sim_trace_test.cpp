// Traces: what they hold is what was counted, and their clock obeys its own rules.
#include <doctest/doctest.h>

#include <map>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/trace.hpp"
#include "tests/unit/chrome_trace_rules.hpp"
#include "walkthrough/trace_json.hpp"
#include "walkthrough/traffic_run.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

constexpr Index plenty = 1'000'000;

/// Two members' worth of ragged tiles, grouped heads and a causal mask.
AttentionProblem example() {
  flashbook_problem p = dense_problem(2, 4, 2, 21, 17, 6, 5);
  p.dtype = FLASHBOOK_FP16;
  p.causal = 1;
  return AttentionProblem(p);
}

/// Not a divisor of any number of tasks here, so that workers end apart.
constexpr TraceModel three_workers = {3, 36, 7.5};

struct Traced {
  Report report;
  Trace trace;
  Index events;
};

Traced traced(const Algorithm& algorithm, const AttentionProblem& problem,
              TraceModel model = three_workers, Index most_events = plenty) {
  TraceRecorder recorder(model, most_events);
  RunOptions options;
  options.blocks = {8, 4};
  options.listener = &recorder;
  const Report report = run_on_random(algorithm, problem, options);
  return {report, recorder.trace(), recorder.events()};
}

Index flops_of(const Trace& trace) {
  Index flops = 0;
  for (const Trace::Product& product : trace.products) flops += product.flops;
  return flops;
}

/// Elements by tensor and direction, from the regions.
std::map<std::string, Counts> counts_of(const Trace& trace) {
  std::map<std::string, Counts> counts;
  for (const Trace::Move& move : trace.moves) {
    Counts& of = counts[move.tensor];
    (move.kind == Listener::Move::load    ? of.reads
     : move.kind == Listener::Move::store ? of.writes
                                          : of.atomic_updates) += move.region.size();
  }
  return counts;
}

/// Moves and products of a worker follow each other; a kernel begins when the last has ended.
void check_clock(const Trace& trace) {
  std::map<Index, std::map<Index, Index>> spans;  // worker → start → end
  const auto add = [&](const Trace::Span& span) {
    CHECK(span.duration_ns > 0);
    CHECK(spans[span.worker].emplace(span.start_ns, span.end_ns()).second);
  };
  for (const Trace::Move& move : trace.moves) add(move);
  for (const Trace::Product& product : trace.products) add(product);
  for (const auto& [worker, of_worker] : spans) {
    Index free = 0;
    for (const auto& [start, end] : of_worker) {
      CHECK(start >= free);
      free = end;
    }
    CHECK(free <= trace.duration_ns);
  }
  Index kernel = 0, ends = 0, ends_before = 0;
  for (const Trace::Task& task : trace.tasks) {
    if (task.kernel != kernel) {
      CHECK(task.kernel > kernel);
      kernel = task.kernel;
      ends_before = ends;
    }
    CHECK(task.start_ns >= ends_before);
    ends = std::max(ends, task.end_ns());
  }
  CHECK(ends == trace.duration_ns);
}

/// What a worker holds is the sum of its living tiles; nothing is held at the end.
void check_residency(const Trace& trace, Index peak_bytes) {
  Index peak = 0;
  std::map<Index, Index> held;
  for (const Trace::Residency& r : trace.residency) {
    peak = std::max(peak, r.bytes);
    held[r.worker] = r.bytes;
  }
  CHECK(peak == peak_bytes);
  for (const auto& [worker, bytes] : held) CHECK(bytes == 0);
  CHECK(trace.residency.size() == 2 * trace.tiles.size());
}

}  // namespace

TEST_CASE("a trace holds what the report counts, for every algorithm") {
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const auto [report, trace, events] = traced(algorithm, example());
    const Report untraced = run_on_random(algorithm, example(), {{.blocks = {8, 4}}});
    CHECK(untraced.tensors == report.tensors);
    CHECK(untraced.peak_sram_bytes == report.peak_sram_bytes);

    std::map<std::string, Counts> expected;
    for (const TensorTraffic& t : report.tensors) expected[t.name] += t.counts;
    CHECK(counts_of(trace) == expected);
    Index bytes = 0;
    for (const Trace::Move& move : trace.moves) bytes += move.bytes;
    CHECK(bytes == report.bytes_read() + report.bytes_written());
    CHECK(flops_of(trace) == report.flops_executed);
    check_clock(trace);
    check_residency(trace, report.peak_sram_bytes);
    CHECK(events == static_cast<Index>(trace.tasks.size() + trace.moves.size() +
                                       trace.products.size() + 3 * trace.tiles.size()));
  }
}

TEST_CASE("a trace obeys the Trace Event Format and our own rules, for every algorithm") {
  for (const Algorithm& algorithm : algorithms()) {
    CAPTURE(algorithm.name);
    const auto [report, trace, events] = traced(algorithm, example());
    testing::ChromeTraceRules rules(chrome_trace(trace, std::string(algorithm.name)));
    rules.check();
    CHECK(rules.bytes("move") == report.bytes_read() + report.bytes_written());
    CHECK(static_cast<Index>(rules.counted("X") + rules.counted("C")) == events);
  }
}

TEST_CASE("a trace is the same each time") {
  const Algorithm& algorithm = find_algorithm("three_kernel_backward");
  CHECK(chrome_trace(traced(algorithm, example()).trace, "t") ==
        chrome_trace(traced(algorithm, example()).trace, "t"));
}

TEST_CASE("the clock by hand: a task goes to the worker that is free first") {
  // Tasks of 4, 1, 1 and 1 loads of 8 bytes, 2 ns each at 4 GB/s, on two workers.
  std::vector<float> values(2);
  Machine machine;
  const Tensor x = machine.hbm.add_input(
      "X", {Kind::matrix, DType::fp32, {1, 1, 1, 2}, {2, 2, 2, 1}}, values.data());
  TraceRecorder recorder({2, 4, 1}, plenty);
  machine.listener = &recorder;
  const auto task = [&](Sram& sram, Index t) {
    for (Index i = 0; i < (t == 0 ? 4 : 1); ++i) sram.load(x, {0, 0, 0, 1, 0, 2});
  };
  machine.launch(4, task);
  machine.launch(1, [](Sram& sram, Index) { sram.count_flops(1001); });

  const Trace& trace = recorder.trace();
  REQUIRE(trace.tasks.size() == 5);
  const Index expected[5][4] = {// kernel, worker, start, end
                                {0, 0, 0, 8},
                                {0, 1, 0, 2},
                                {0, 1, 2, 4},
                                {0, 1, 4, 6},
                                {1, 0, 8, 10}};
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(trace.tasks[i].kernel == expected[i][0]);
    CHECK(trace.tasks[i].worker == expected[i][1]);
    CHECK(trace.tasks[i].start_ns == expected[i][2]);
    CHECK(trace.tasks[i].end_ns() == expected[i][3]);
  }
  CHECK(trace.products.at(0).duration_ns == 2);  // 1001 FLOPs at 1000 a nanosecond, rounded up
  CHECK(trace.duration_ns == 10);
  CHECK(trace.tiles.at(2).start_ns == 4);
  CHECK(trace.tiles.at(2).end_ns() == 6);
  CHECK(trace.residency.at(4).bytes == 8);
}

TEST_CASE("more workers, faster memory or faster products never make a dense pass longer") {
  const AttentionProblem problem(dense_problem(1, 4, 4, 64, 64, 8, 8));
  const Algorithm& algorithm = find_algorithm("fa2_forward");
  const auto duration = [&](const TraceModel& model) {
    return traced(algorithm, problem, model).trace.duration_ns;
  };
  const Index slow = duration({1, 10, .01});
  const Index expected[] = {duration({4, 10, .01}), duration({1, 40, .01}), duration({1, 10, .04})};
  for (const Index faster : expected) CHECK(faster < slow);
  CHECK(4 * expected[0] == slow);  // 32 equal tasks
}

TEST_CASE("an atomic addition reads and writes its region") {
  Machine machine;
  const Tensor sum = machine.hbm.add_workspace("sum", Kind::matrix, DType::fp32, {1, 1, 2, 2});
  TraceRecorder recorder(three_workers, plenty);
  machine.listener = &recorder;
  machine.launch(1, [&](Sram& sram, Index) {
    Tile one = sram.allocate("one", 2, 2);
    one.setOnes();
    sram.atomic_add(one, sum, {0, 0, 0, 2, 0, 2});
  });
  CHECK(recorder.trace().moves.at(0).bytes == 2 * 16);
  CHECK(chrome_trace(recorder.trace(), "t").find("atomic add to sum") != std::string::npos);
}

TEST_CASE("a recorder keeps what it may and counts the rest") {
  const Algorithm& algorithm = find_algorithm("fa2_forward");
  const Traced whole = traced(algorithm, example());
  const Traced part = traced(algorithm, example(), three_workers, 10);
  CHECK(part.events == whole.events);
  CHECK(part.trace.duration_ns == whole.trace.duration_ns);
  CHECK(part.trace.tasks.size() + part.trace.moves.size() + part.trace.products.size() +
            part.trace.tiles.size() + part.trace.residency.size() ==
        10);
}

TEST_CASE("a worker of the model is one multiprocessor of the GPU, in the problem's type") {
  const Gpu gpu = {"toy", "this test", 4, 1024, 0, 8e9, 400e12, 20e12, 1e9, 16};
  const TraceModel bf16 = multiprocessors_of(gpu, DType::bf16, 3);
  CHECK(bf16.workers == 3);
  CHECK(bf16.gb_per_s == 2);
  CHECK(bf16.tflop_per_s == 100);
  CHECK(multiprocessors_of(gpu, DType::fp32, 3).tflop_per_s == 5);
}

TEST_CASE("impossible machines are refused") {
  CHECK_THROWS_WITH_AS(TraceRecorder({0, 1, 1}, 1), doctest::Contains("--workers) is 0"),
                       InputError);
  CHECK_THROWS_WITH_AS(TraceRecorder({1025, 1, 1}, 1), doctest::Contains("1024"), InputError);
  CHECK_THROWS_WITH_AS(TraceRecorder({1, 0, 1}, 1), doctest::Contains("--gbps"), InputError);
  CHECK_THROWS_WITH_AS(TraceRecorder({1, 1, 1e7}, 1), doctest::Contains("--tflops"), InputError);
  CHECK_THROWS_AS(TraceRecorder({1, std::nan(""), 1}, 1), InputError);
}
