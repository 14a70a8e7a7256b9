#include "sim/io/trace.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::io {
namespace {

void check_rate(const char* name, double rate) {
  if (rate >= 0.001 && rate <= 1e6) return;
  std::ostringstream out;
  out << name << " is " << rate << ": a worker's rate must be between 0.001 and 1000000";
  throw InputError(out.str());
}

}  // namespace

TraceModel multiprocessors_of(const Gpu& gpu, DType dtype, Index workers) {
  const double all = static_cast<double>(gpu.multiprocessors);
  return {workers, gpu.dram_bytes_per_s / all / 1e9, gpu.matmul_flops_per_s(dtype) / all / 1e12};
}

TraceRecorder::TraceRecorder(const TraceModel& model, Index most_events)
    : most_events_(most_events) {
  if (model.workers < 1 || model.workers > most_workers)
    throw InputError("workers (--workers) is " + std::to_string(model.workers) + ": pass 1 to " +
                     std::to_string(most_workers));
  check_rate("gb_per_s (--gbps)", model.gb_per_s);
  check_rate("tflop_per_s (--tflops)", model.tflop_per_s);
  trace_.model = model;
  clocks_.resize(static_cast<std::size_t>(model.workers));
}

template <class Event>
void TraceRecorder::record(std::vector<Event>& events, Event event) {
  if (++events_ <= most_events_) events.push_back(std::move(event));
}

Trace::Span TraceRecorder::spend(double ns) {
  const Trace::Span span = {worker_, clock(), static_cast<Index>(std::ceil(ns))};
  clock() = span.end_ns();
  trace_.duration_ns = std::max(trace_.duration_ns, clock());
  return span;
}

void TraceRecorder::on_forget() {
  *this = TraceRecorder(trace_.model, most_events_);
}

void TraceRecorder::on_launch() {
  ++kernel_;
  std::fill(clocks_.begin(), clocks_.end(), trace_.duration_ns);
}

void TraceRecorder::on_task_begin(Index task) {
  worker_ = std::min_element(clocks_.begin(), clocks_.end()) - clocks_.begin();
  task_ = task;
  task_start_ = clock();
}

void TraceRecorder::on_task_end() {
  record(trace_.tasks, {{worker_, task_start_, clock() - task_start_}, kernel_, task_});
}

void TraceRecorder::on_move(Move move, const std::string& tensor, const Region& region,
                            Index region_bytes) {
  const Index bytes = move == Move::atomic_add ? 2 * region_bytes : region_bytes;
  const Trace::Span span = spend(static_cast<double>(bytes) / trace_.model.gb_per_s);
  record(trace_.moves, {span, move, tensor, region, bytes});
}

void TraceRecorder::on_product(Index flops) {
  const Trace::Span span = spend(static_cast<double>(flops) / (1000 * trace_.model.tflop_per_s));
  record(trace_.products, {span, flops});
}

void TraceRecorder::on_allocate(const Resident& tile, Index resident_bytes) {
  allocated_at_.resize(std::max(allocated_at_.size(), tile.slot + 1));
  allocated_at_[tile.slot] = clock();
  record(trace_.residency, {worker_, clock(), resident_bytes});
}

void TraceRecorder::on_release(const Resident& tile, Index resident_bytes) {
  const Index start = allocated_at_[tile.slot];
  record(trace_.tiles, {{worker_, start, clock() - start},
                        tile.slot,
                        std::string(tile.tile),
                        tile.rows,
                        tile.columns,
                        tile.bytes});
  record(trace_.residency, {worker_, clock(), resident_bytes});
}

}  // namespace flashbook::io
