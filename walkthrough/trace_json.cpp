#include "walkthrough/trace_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace flashbook {
namespace {

using io::Trace;
using Json = nlohmann::ordered_json;

// Process 0 is the idle process to some viewers. Threads are numbered apart in all processes.
Index pid_of(Index worker) {
  return worker + 1;
}

enum Lane : Index { tasks, moves, products, first_slot };

Index tid_of(Index worker, Index lane) {
  return 1000 * pid_of(worker) + lane;
}

Index lane_of(const Trace::TileLife& tile) {
  return first_slot + static_cast<Index>(tile.slot);
}

double microseconds(Index ns) {
  return static_cast<double>(ns) / 1000;
}

std::string_view name(io::Listener::Move kind) {
  using Move = io::Listener::Move;
  return kind == Move::load ? "load " : kind == Move::store ? "store " : "atomic add to ";
}

Json complete(const Trace::Span& span, Index lane, const std::string& name, const char* category,
              Json args) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"ts", microseconds(span.start_ns)},
          {"dur", microseconds(span.duration_ns)},
          {"pid", pid_of(span.worker)},
          {"tid", tid_of(span.worker, lane)},
          {"args", std::move(args)}};
}

Json event(const Trace::Task& t) {
  const std::string name =
      "kernel " + std::to_string(t.kernel) + ", task " + std::to_string(t.task);
  return complete(t, tasks, name, "task", {{"kernel", t.kernel}, {"task", t.task}});
}

Json event(const Trace::Move& m) {
  const io::Region& r = m.region;
  const Json region = {{"batch", r.batch},
                       {"head", r.head},
                       {"rows", {r.row, r.row + r.rows}},
                       {"columns", {r.column, r.column + r.columns}}};
  return complete(m, moves, std::string(name(m.kind)) + m.tensor, "move",
                  {{"tensor", m.tensor}, {"region", region}, {"bytes", m.bytes}});
}

Json event(const Trace::Product& p) {
  return complete(p, products, "product", "product", {{"flops", p.flops}});
}

Json event(const Trace::TileLife& t) {
  const std::string name =
      t.tile + " [" + std::to_string(t.rows) + ", " + std::to_string(t.columns) + "]";
  return complete(t, lane_of(t), name, "tile", {{"bytes", t.bytes}});
}

Json event(const Trace::Residency& r) {
  return {{"name", "SRAM held"},
          {"ph", "C"},
          {"ts", microseconds(r.at_ns)},
          {"pid", pid_of(r.worker)},
          {"tid", tid_of(r.worker, tasks)},
          {"args", {{"bytes", r.bytes}}}};
}

Json metadata(const char* what, Index pid, Index tid, Json args) {
  return {{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}};
}

/// The text of the array of events, an event a line.
class Events {
 public:
  void add(const Json& event) { text_ += (text_.empty() ? "" : ",\n") + event.dump(); }
  template <class Record>
  void add_all(const std::vector<Record>& records) {
    for (const Record& record : records) add(event(record));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_names(const Trace& trace, Events& events) {
  Index lanes = first_slot;
  for (const Trace::TileLife& tile : trace.tiles) lanes = std::max(lanes, lane_of(tile) + 1);
  const char* const names[] = {"tasks", "moves between HBM and SRAM", "products"};
  for (Index worker = 0; worker < trace.model.workers; ++worker) {
    const Index pid = pid_of(worker);
    events.add(metadata("process_name", pid, tid_of(worker, tasks),
                        {{"name", "worker " + std::to_string(worker)}}));
    for (Index lane = 0; lane < lanes; ++lane) {
      const std::string name =
          lane < first_slot ? names[lane] : "SRAM slot " + std::to_string(lane - first_slot);
      const Index tid = tid_of(worker, lane);
      events.add(metadata("thread_name", pid, tid, {{"name", name}}));
      events.add(metadata("thread_sort_index", pid, tid, {{"sort_index", lane}}));
    }
  }
}

}  // namespace

std::string chrome_trace(const Trace& trace, const std::string& title) {
  Events events;
  add_names(trace, events);
  events.add_all(trace.tasks);
  events.add_all(trace.moves);
  events.add_all(trace.products);
  // A viewer draws the tiles of a slot in the order of their allocation, which is also that of
  // their release.
  events.add_all(trace.tiles);
  events.add_all(trace.residency);
  const Json about = {{"run", title},
                      {"clock", "a model: one thing at a time in each worker"},
                      {"workers", trace.model.workers},
                      {"GB/s of a worker", trace.model.gb_per_s},
                      {"TFLOP/s of a worker", trace.model.tflop_per_s}};
  return "{\"displayTimeUnit\":\"ns\",\n\"otherData\":" + about.dump() + ",\n\"traceEvents\":[\n" +
         events.text() + "\n]}\n";
}

}  // namespace flashbook
