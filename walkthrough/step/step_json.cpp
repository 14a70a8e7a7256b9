#include "walkthrough/step/step_json.hpp"

#include <cmath>

#include "walkthrough/step/tile_map.hpp"
#include "walkthrough/step/traffic_rows.hpp"

namespace flashbook::step {
namespace {

using Json = nlohmann::ordered_json;

Json number(float x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

/// In words that any keyboard has.
std::string ascii(const std::string& name) {
  return name == "α" ? "alpha" : name == "ℓ" ? "l" : name == "Δ" ? "delta" : name;
}

Json as_json(const io::Step::Shown& shown) {
  Json rows = Json::array();
  for (Index i = 0; i < shown.values.rows(); ++i) {
    Json row = Json::array();
    for (Index j = 0; j < shown.values.cols(); ++j) row.push_back(number(shown.values(i, j)));
    rows.push_back(std::move(row));
  }
  return {{"name", ascii(shown.name())}, {"equation", shown.equation}, {"values", rows}};
}

Json as_json(const io::Step::Move& move) {
  using Kind = io::Listener::Move;
  const io::Region& r = move.region;
  return {{"kind", move.kind == Kind::load    ? "load"
                   : move.kind == Kind::store ? "store"
                                              : "atomic_add"},
          {"tensor", move.tensor},
          {"batch", r.batch},
          {"head", r.head},
          {"rows", {r.row, r.row + r.rows}},
          {"columns", {r.column, r.column + r.columns}},
          {"elements", r.size()},
          {"bytes", move.bytes}};
}

Json as_json(const io::ResidentTile& tile) {
  return {
      {"tile", tile.name}, {"rows", tile.rows}, {"columns", tile.columns}, {"bytes", tile.bytes}};
}

template <class Record>
Json all(const std::vector<Record>& records) {
  Json array = Json::array();
  for (const Record& record : records) array.push_back(as_json(record));
  return array;
}

/// Where a tile of S lies; null for a step without one.
Json tile_json(const StepRun& run, const io::Step& step) {
  if (!step.tile || !run.algorithm->takes.blocks) return nullptr;
  const io::ScoreTile& at = *step.tile;
  const auto& [i, j] = tile_index(run, step);
  return {{"i", i},
          {"j", j},
          {"batch", at.member.index},
          {"head", at.head},
          {"queries", {at.rows.first, at.rows.last}},
          {"keys", {at.keys.first, at.keys.last}}};
}

Json as_json(const Traffic& traffic) {
  return {{"read", traffic.read}, {"written", traffic.written}};
}

Json so_far_json(const StepRun& run, Index at) {
  const StepTraffic traffic = traffic_of(run, at);
  Json tensors = Json::object();
  for (const TrafficRow& row : traffic.tensors) tensors[row.name] = as_json(row.so_far);
  return {{"elements", as_json(traffic.elements.so_far)},
          {"bytes", as_json(traffic.bytes.so_far)},
          {"tensors", tensors}};
}

Json step_json(const StepRun& run, Index at) {
  const io::Step& step = run[at];
  return {{"step", at + 1},
          {"kernel", step.kernel + 1},
          {"task", step.task + 1},
          {"tile", tile_json(run, step)},
          {"shown", all(step.shown)},
          {"moves", all(step.moves)},
          {"so_far", so_far_json(run, at)},
          {"resident", all(step.resident)},
          {"resident_bytes", step.resident_bytes}};
}

}  // namespace

Json as_json(const StepRun& run, Index first, Index last) {
  const AttentionProblem& p = run.problem();
  const bool blocks = run.algorithm->takes.blocks;
  Json steps = Json::array();
  for (Index at = first; at < last; ++at) steps.push_back(step_json(run, at));
  return {{"algorithm", run.algorithm->name},
          {"input", run.subject.source},
          {"n_q", p->n_q},
          {"n_k", p->n_k},
          {"d", p->d},
          {"d_v", p->d_v},
          {"batch", p->batch},
          {"heads_q", p->heads_q},
          {"heads_kv", p->heads_kv},
          {"dtype", name(p.dtype())},
          {"causal", p->causal != 0},
          {"scale", p->scale},
          {"br", blocks ? Json(run.schedule.blocks.rows) : Json()},
          {"bc", blocks ? Json(run.schedule.blocks.columns) : Json()},
          {"splits", run.schedule.splits},
          {"step_count", run.size()},
          {"visited_tiles", run.report.visited_tiles},
          {"bytes_read", run.report.bytes_read()},
          {"bytes_written", run.report.bytes_written()},
          {"peak_sram_bytes", run.report.peak_sram_bytes},
          {"steps", steps}};
}

}  // namespace flashbook::step
