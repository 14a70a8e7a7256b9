#include "sim/io/fa1_forward.hpp"

#include "sim/io/forward_steps.hpp"

namespace flashbook::io {
namespace {

/// Keys outside, queries inside; what a row tile is between two visits, the variants say.
class Fa1Forward {
 public:
  Fa1Forward(Hbm& hbm, const AttentionProblem& problem, const RunOptions& options,
             const Tensors& tensors)
      : problem_(problem),
        blocks_(options.blocks),
        hbm_(tensors),
        O_partial_(add_row_workspace(hbm, problem, "O_partial", Kind::matrix, problem->d_v)),
        steps_(problem, options, hbm_) {}
  virtual ~Fa1Forward() = default;

  /// One query head: j runs over all key tiles, i over the row tiles that see tile j.
  void head(Sram& sram, const HeadOf& at) const {
    const auto& [member, h] = at;
    const float slope = steps_.load_slope(sram, member, h);
    for (Index j = 0; j * blocks_.columns < member.n_k; ++j) {
      KeyValueTile keys = steps_.load_keys(sram, member, h, j);
      const Range visited = steps_.row_tiles_of(member, keys.keys);
      for (Index i = visited.first; i < visited.last; ++i) {
        const QueryTile tile = {member, h, tile_of(i, blocks_.rows, member.n_q)};
        const Range visits = steps_.key_tiles_of(tile);
        RowTile row = load(sram, tile, slope, j == visits.first);
        steps_.take_in(sram, row, keys);
        row.state.divide_by_l(sram);
        store(sram, row, j + 1 == visits.last);
        sram.end_step();
      }
    }
  }

 protected:
  /// A row tile as its last visit left it, O times ℓ.
  virtual RowTile load(Sram& sram, const QueryTile& tile, float slope, bool is_first) const = 0;
  /// O is divided by ℓ.
  virtual void store(Sram& sram, RowTile& row, bool is_last) const = 0;

  static Region vector_of(const QueryTile& tile) {
    return query_rows(tile.member, tile.head, tile.rows, 1);
  }
  Region O_of(const QueryTile& tile) const {
    return query_rows(tile.member, tile.head, tile.rows, problem_->d_v);
  }
  Tensor O_after(bool is_last) const { return is_last ? hbm_.o : O_partial_; }

  const AttentionProblem& problem_;
  const Blocks blocks_;
  const Tensors hbm_;
  const Tensor O_partial_;
  const ForwardSteps steps_;
};

// ---- Algorithms 1 and 2

class Literal : public Fa1Forward {
 public:
  Literal(Hbm& hbm, const AttentionProblem& problem, const RunOptions& options,
          const Tensors& tensors)
      : Fa1Forward(hbm, problem, options, tensors),
        m_(add_row_workspace(hbm, problem, "m", Kind::vector, 1)),
        l_(add_row_workspace(hbm, problem, "l", Kind::vector, 1)) {}

  /// O = 0, ℓ = 0, m = −∞, or what a sink makes of them; of rows that see no key, this is all.
  void initialise(Sram& sram, const QueryTile& tile) const {
    RowState state = steps_.start(sram, tile.rows.size(), steps_.load_first_state(sram, tile.head));
    const bool is_unvisited = steps_.key_tiles_of(tile).empty();
    sram.show("O = 0", state.O);
    sram.show("m", state.m);
    sram.show("ℓ", state.l);
    sram.store(state.O, O_after(is_unvisited), O_of(tile));
    sram.store(state.m, m_, vector_of(tile));
    sram.store(state.l, l_, vector_of(tile));
    if (is_unvisited && hbm_.lse) sram.store(state.lse_in_place(sram), hbm_.lse, vector_of(tile));
  }

 private:
  RowTile load(Sram& sram, const QueryTile& tile, float slope, bool) const override {
    RowTile row = {tile,
                   slope,
                   steps_.load_queries(sram, tile),
                   {sram.load(O_partial_, O_of(tile)), sram.load(m_, vector_of(tile)),
                    sram.load(l_, vector_of(tile))}};
    auto& [O, m, l] = row.state;
    for (Index i = 0; i < O.rows(); ++i) O.row(i) *= l(i);
    sram.show("O = diag(ℓ) O", O);
    return row;
  }

  void store(Sram& sram, RowTile& row, bool is_last) const override {
    sram.store(row.state.O, O_after(is_last), O_of(row.at));
    sram.store(row.state.m, m_, vector_of(row.at));
    sram.store(row.state.l, l_, vector_of(row.at));
    if (is_last && hbm_.lse) sram.store(row.state.lse_in_place(sram), hbm_.lse, vector_of(row.at));
  }

  const Tensor m_, l_;
};

// ---- the first release

class Shipped : public Fa1Forward {
 public:
  using Fa1Forward::Fa1Forward;

  /// Rows that see no key: O = 0, LSE = −∞ or the sink.
  void write_if_unvisited(Sram& sram, const QueryTile& tile) const {
    if (!steps_.key_tiles_of(tile).empty()) return;
    RowState state = steps_.start(sram, tile.rows.size(), steps_.load_first_state(sram, tile.head));
    sram.store(state.O, hbm_.o, O_of(tile));
    sram.store(state.lse_in_place(sram), hbm_.lse, vector_of(tile));
  }

 private:
  RowTile load(Sram& sram, const QueryTile& tile, float slope, bool is_first) const override {
    Tile Q = steps_.load_queries(sram, tile);
    if (is_first) {
      const SoftmaxState first = steps_.load_first_state(sram, tile.head);
      return {tile, slope, std::move(Q), steps_.start(sram, tile.rows.size(), first)};
    }
    RowState state = {sram.load(O_partial_, O_of(tile)), sram.load(hbm_.lse, vector_of(tile)),
                      sram.allocate("l", tile.rows.size(), 1)};
    state.l.setOnes();  // all of ℓ is in the LSE; of an empty row, e^(−∞) cancels it
    return {tile, slope, std::move(Q), std::move(state)};
  }

  void store(Sram& sram, RowTile& row, bool is_last) const override {
    sram.store(row.state.O, O_after(is_last), O_of(row.at));
    sram.store(row.state.lse_in_place(sram), hbm_.lse, vector_of(row.at));
  }
};

void launch_heads(Machine& machine, const AttentionProblem& problem, const Fa1Forward& kernel) {
  launch_over(machine, heads_of(problem, problem->heads_q),
              [&](Sram& sram, const HeadOf& at) { kernel.head(sram, at); });
}

void literal(Machine& machine, const AttentionProblem& problem, const Tensors& tensors,
             const RunOptions& options) {
  const Literal kernel(machine.hbm, problem, options, tensors);
  launch_over(machine, query_tiles(problem, options.blocks.rows),
              [&](Sram& sram, const QueryTile& tile) { kernel.initialise(sram, tile); });
  if (!options.includes_init) machine.forget();
  launch_heads(machine, problem, kernel);
}

}  // namespace

void fa1_forward(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                 const RunOptions& options) {
  Tensors hbm = bind_forward(machine.hbm, problem, tensors);
  hbm.lse = {};
  literal(machine, problem, hbm, options);
}

void fa1_forward_lse(Machine& machine, const AttentionProblem& problem, const RunTensors& tensors,
                     const RunOptions& options) {
  literal(machine, problem, bind_forward(machine.hbm, problem, tensors), options);
}

void fa1_forward_shipped(Machine& machine, const AttentionProblem& problem,
                         const RunTensors& tensors, const RunOptions& options) {
  const Shipped kernel(machine.hbm, problem, options, bind_forward(machine.hbm, problem, tensors));
  launch_heads(machine, problem, kernel);
  launch_over(machine, query_tiles(problem, options.blocks.rows),
              [&](Sram& sram, const QueryTile& tile) { kernel.write_if_unvisited(sram, tile); });
}

}  // namespace flashbook::io
