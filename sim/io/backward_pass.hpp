#pragma once

#include <optional>
#include <vector>

#include "sim/io/scores.hpp"
#include "sim/io/tile_math.hpp"

/// What the backward passes in blocks are made of: loads of both sides of a tile, P and dS
/// recomputed, a key tile's gradients, and the Δ and dBias kernels. The algorithms differ in what
/// they read again, keep on chip and write.
namespace flashbook::io {

/// What a kernel holds of the query side of one row tile.
struct QuerySide {
  Tile Q, dO;                            ///< [B_r, d], [B_r, d_v]
  Tile lse, D;                           ///< [B_r]
  std::optional<Tile> O = std::nullopt;  ///< [B_r, d_v], where the algorithm holds it too
};

/// What it holds of the key side of one key tile.
struct KeySide {
  Tile K, V;  ///< [B_c, d], [B_c, d_v]
};

/// One visited tile of S, [B_r, B_c].
struct ScoreGradient {
  Tile S;                                               ///< then P, in its place
  Tile dS;                                              ///< then dX, in its place
  std::optional<Tile> H = std::nullopt;                 ///< the soft-cap's slope
  bool hides_pairs = false;                             ///< some of S are −∞
  std::optional<SilencedKeys> silenced = std::nullopt;  ///< rows of K, while the visit lasts
  std::vector<Index> blind = {};                        ///< rows whose dQ K must not reach
};

/// A key tile that stays on chip with its gradients while the queries of its group stream past.
struct KeyPass {
  KeyTile at;
  KeySide keys;
  Tile dK, dV;                ///< [B_c, d], not yet scaled, and [B_c, d_v]
  std::vector<float> slopes;  ///< ALiBi's, of the heads of the group
};

/// Where D of all rows lies: a kernel leaves it in HBM, or every visit computes it again.
enum class Delta { in_hbm, on_chip };

/// Base of the backward passes in blocks: each lists its kernels in the order they are launched.
class BackwardPass {
 public:
  virtual ~BackwardPass() = default;
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

 protected:
  BackwardPass(Hbm& hbm, const AttentionProblem& problem, const RunTensors& tensors,
               const Blocks& blocks, Delta delta)
      : problem_(problem),
        blocks_(blocks),
        hbm_(bind_backward(hbm, problem, tensors)),
        scores_(problem, hbm_),
        delta_(delta == Delta::in_hbm ? add_row_workspace(hbm, problem, "delta", Kind::vector, 1)
                                      : Tensor{}) {}

  virtual Tile load_lse(Sram& sram, const QueryTile& tile) const;
  /// Q, dO, LSE and D.
  QuerySide load_queries(Sram& sram, const QueryTile& tile) const;
  /// The same with D computed on chip, from O, which stays.
  QuerySide load_queries_and_o(Sram& sram, const QueryTile& tile) const;
  KeySide load_keys(Sram& sram, const KeyTile& tile) const;

  /// The visit of a tile in two steps, between which S may silence what only hidden pairs touch.
  ScoreGradient recompute(Sram& sram, const ScoreTile& at, float slope, const Tile& Q,
                          const Tile& K) const;
  void differentiate(Sram& sram, ScoreGradient& tile, const QuerySide& queries,
                     const KeySide& keys) const;
  /// dX = dS ∘ H, rounded as the operand of a product.
  void to_operand(ScoreGradient& tile) const;

  KeyPass start(Sram& sram, const KeyTile& tile) const;
  /// dV += PᵀdO and dK += dXᵀQ for one row tile that sees the keys. Returns P and dX; as long as it
  /// lives, K is fit for dX K.
  ScoreGradient visit(Sram& sram, KeyPass& pass, const QueryTile& tile, QuerySide& queries) const;
  void finish(Sram& sram, KeyPass& pass) const;
  /// dQ += dX K.
  static void add_to_queries(Sram& sram, Tile& dQ, const ScoreGradient& tile, const Tile& K) {
    const SparedRows spared(tile.blind, dQ);
    add_product(sram, dQ, tile.dS, K);
    sram.show("dQ += dS K", tile.dS * K);
  }
  /// start, then each(row tile, pass) for every row tile of the group that sees the keys, finish.
  template <class Each>
  void stream_queries(Sram& sram, const KeyTile& tile, const Each& each) const {
    KeyPass pass = start(sram, tile);
    for (const QueryTile& rows : rows_that_see(tile)) {
      each(rows, pass);
      sram.end_step();
    }
    finish(sram, pass);
  }

  static void store_zeros(Sram& sram, Tensor tensor, const Region& region);

  // ---- kernels

  /// D of all rows, to delta_, and dSinks: a worker a query head.
  void launch_delta(Machine& machine) const;
  /// dSinks alone, where no kernel computes D of all rows.
  void launch_sinks(Machine& machine) const;
  /// dBias, if there is a bias: a worker a tile of it visits all tiles of S it was broadcast to.
  void launch_bias(Machine& machine) const;
  /// A worker a key/value head of a member, which takes the key tiles one after the other.
  template <class Task>
  void launch_heads_of_keys(Machine& machine, const Task& task) const;

  const AttentionProblem& problem_;
  const Blocks blocks_;
  const Tensors hbm_;
  const ScoreRule scores_;
  const Tensor delta_;  ///< D = Δ − dLSE, [B, H_q, N_q]; absent if it stays on chip

 private:
  std::vector<QueryTile> rows_that_see(const KeyTile& tile) const;
  void delta_kernel(Sram& sram, Index head, Tensor kept) const;
  float delta_tile(Sram& sram, const QueryTile& tile, float sink, Tensor kept) const;
  void bias_kernel(Sram& sram, const BiasTile& tile) const;
  void add_head(Sram& sram, const Member& member, Index head, const BiasTile& tile,
                Tile& sum) const;
};

template <class Task>
void BackwardPass::launch_heads_of_keys(Machine& machine, const Task& task) const {
  const auto head = [&](Sram& sram, const HeadOf& at) {
    const Index block = blocks_.columns, n_k = at.member.n_k;
    for (Index j = 0; j * block < n_k; ++j)
      task(sram, KeyTile{at.member, at.head, tile_of(j, block, n_k)});
  };
  launch_over(machine, heads_of(problem_, problem_->heads_kv), head);
}

}  // namespace flashbook::io
