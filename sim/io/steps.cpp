#include "sim/io/steps.hpp"

#include <algorithm>

namespace flashbook::io {

std::string Step::Shown::name() const {
  return equation.substr(0, equation.find_first_of(" ,"));
}

Counts Step::Move::counts() const {
  Counts counts;
  Index& count = kind == Listener::Move::load    ? counts.reads
                 : kind == Listener::Move::store ? counts.writes
                                                 : counts.atomic_updates;
  count = region.size();
  return counts;
}

const Matrix<float>* Step::find(std::string_view name) const {
  const auto found = std::find_if(shown.begin(), shown.end(),
                                  [&](const Shown& values) { return values.name() == name; });
  return found == shown.end() ? nullptr : &found->values;
}

void StepRecorder::on_forget() {
  *this = StepRecorder();
}

void StepRecorder::on_launch() {
  ++kernel_;
  slots_.clear();  // its workers have memories of their own
}

void StepRecorder::on_task_begin(Index task) {
  task_ = task;
  begin_step();
}

void StepRecorder::begin_step() {
  step_ = {};
  step_.kernel = kernel_;
  step_.task = task_;
}

void StepRecorder::on_step_end() {
  if (!step_.moves.empty() || !step_.shown.empty()) steps_.push_back(std::move(step_));
  begin_step();
}

void StepRecorder::on_move(Move move, const std::string& tensor, const Region& region,
                           Index bytes) {
  step_.moves.push_back({move, tensor, region, bytes});
  look_at_sram();
}

void StepRecorder::on_allocate(const Resident& tile, Index resident_bytes) {
  slots_.resize(std::max(slots_.size(), tile.slot + 1));
  slots_[tile.slot] = {std::string(tile.tile), tile.rows, tile.columns, tile.bytes};
  resident_bytes_ = resident_bytes;
  look_at_sram();
}

void StepRecorder::on_release(const Resident& tile, Index resident_bytes) {
  slots_[tile.slot].reset();
  resident_bytes_ = resident_bytes;
}

void StepRecorder::on_scores(const ScoreTile& at, const Values& S) {
  step_.tile = at;
  on_show("S = scale · Q Kᵀ", S);
}

void StepRecorder::on_show(std::string_view equation, const Values& values) {
  step_.shown.push_back({std::string(equation), values});
  look_at_sram();
}

void StepRecorder::look_at_sram() {
  if (resident_bytes_ <= step_.resident_bytes) return;
  step_.resident_bytes = resident_bytes_;
  step_.resident.clear();
  for (const auto& tile : slots_)
    if (tile) step_.resident.push_back(*tile);
}

}  // namespace flashbook::io
