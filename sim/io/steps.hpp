#pragma once

#include <optional>
#include <vector>

#include "sim/io/scores.hpp"

/// A run step by step, in its own numbers.
namespace flashbook::io {

/// One visited tile of S, or a phase of a task that visits none: what the algorithm showed, moved
/// and held.
struct Step {
  struct Shown {
    std::string equation;
    Matrix<float> values;  ///< a vector is one column

    /// What the values are: the equation's left side.
    std::string name() const;
  };
  struct Move {
    Listener::Move kind;
    std::string tensor;
    Region region;
    Index bytes;  ///< of the region's elements

    Counts counts() const;  ///< in elements
    Index element_bytes() const { return bytes / region.size(); }
  };

  Index kernel, task;             ///< the task-th of that kernel of the run, both from 0
  std::optional<ScoreTile> tile;  ///< of S, if one was computed
  std::vector<Shown> shown;       ///< S first, the others as the algorithm shows them
  std::vector<Move> moves;
  std::vector<ResidentTile> resident;  ///< in SRAM, when it held most
  Index resident_bytes = 0;

  /// Null if the step does not show it.
  const Matrix<float>* find(std::string_view name) const;
};

/// Makes steps of a run: RunOptions::listener.
class StepRecorder final : public Listener {
 public:
  const std::vector<Step>& steps() const { return steps_; }

  void on_forget() override;
  void on_launch() override;
  void on_task_begin(Index task) override;
  void on_task_end() override { on_step_end(); }
  void on_move(Move move, const std::string& tensor, const Region& region, Index bytes) override;
  void on_allocate(const Resident& tile, Index resident_bytes) override;
  void on_release(const Resident& tile, Index resident_bytes) override;
  void on_product(Index) override {}
  void on_scores(const ScoreTile& at, const Values& S) override;
  void on_show(std::string_view equation, const Values& values) override;
  void on_step_end() override;

 private:
  void begin_step();
  /// Remembers what is resident if it is more than at any time before in this step.
  void look_at_sram();

  std::vector<Step> steps_;
  Step step_ = {};
  Index kernel_ = -1, task_ = 0;
  std::vector<std::optional<ResidentTile>> slots_;  ///< of the worker's SRAM
  Index resident_bytes_ = 0;
};

}  // namespace flashbook::io
