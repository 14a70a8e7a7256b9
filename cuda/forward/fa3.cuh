// The product kernel that the Hopper ladder leads to, for sm_90a, in fp16 and bf16: the rung
// no_running_maximum with all of the contract (docs/contract.md) but bias, ALiBi and rows that TMA
// cannot load. Those it refuses by name; fa2 takes them.
//
// An option costs nothing where it is absent. A soft-cap changes every score and has an instance of
// its own. Masks, windows, packed members, grouped heads, sinks and scales that are not folded into
// the exponent are in both: they say which tiles a block visits, where they lie, which of them are
// masked, and what becomes of a row at its end. A tile that all rows of a warpgroup see is not.
//
// Tensor maps are of all tokens, also of packed ones, so boxes hold rows of other members, which
// may be NaN. None of them counts:
//
//   Q behind the member's last row: such a row sees nothing, has no vote and is not stored
//   K before the first key that the block sees: masked, as are the keys behind a row's last
//   V before the first key that the block sees: zeros, which the producer's warp writes
//   K and V behind the last key that the block sees: no box reaches there
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/pipeline.cuh"
#include "cuda/rules/product.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::fa3 {

/// Tiles for rows of up to `width` channels. A consumer's thread has 240 registers, of which a tile
/// takes, at 64 rows of O and S a warpgroup, in fp32, and of P and Q, in 16 bits:
///
///   D    B_r  B_c  stages  shared memory    O    S    P    Q  together
///   64   128  128     2         80 KiB     32   64   32   16       144
///   128  128  128     2        160 KiB     64   64   32   32       192
///   256  128   64     2        192 KiB    128   32   16  (in shared memory)   176
template <int width>
using Shape = PipelineShape<width>;
/// Whether the registers hold Q.
template <class S>
constexpr bool keeps_Q = S::D <= 128;

/// What scores are made of: products alone, or products under a soft-cap.
enum class Scores { products, capped };

template <class T>
struct Parameters : ProductParameters<T>, TmaMaps {
  float inverse_cap;  ///< finite, so that 0 stays 0 under the smallest cap

  /// cap tanh(scale q k / cap)
  FLASHBOOK_DEVICE float capped(float product) const {
    return this->options.softcap * tanhf(this->tensors.sizes.scale * product * inverse_cap);
  }
};

template <class T, class S>
struct Smem : PipelineSmem<T, S> {
  WorkTiles work;
  Mbarrier landed;             ///< complete when a tile of V is there that must be cleared
  Tile<int, 1, 8> overflowed;  ///< by consumers' warps: their results are not finite

  /// By all threads.
  FLASHBOOK_DEVICE void initialise() {
    if (threadIdx.x == 0) mbarrier_init(landed, 1);
    PipelineSmem<T, S>::initialise();
  }
};

/// The numbered barrier at which consumers and the producer's warp learn what came of the rows.
constexpr int judged = 3;

/// Whether some row of the block overflowed, after all consumers have said so of theirs.
template <class T, class S>
FLASHBOOK_DEVICE bool must_repeat(Smem<T, S>& smem) {
  barrier_sync(judged, 128 * S::consumers + 32);
  return any(smem.overflowed(0, mma::lane() % 8) != 0);
}

/// The keys that a block's rows see, in tiles of B_c from the last: tile t holds those from
/// first(t) on. The last tile may begin before the first key.
template <int B_c>
struct KeyTiles {
  Range keys;

  FLASHBOOK_DEVICE int count() const { return tiles(keys.end - keys.begin, B_c); }
  FLASHBOOK_DEVICE int first(int t) const { return keys.end - (t + 1) * B_c; }
  /// The numbers of the tiles whose keys are all among `some`, none of which comes after these.
  FLASHBOOK_DEVICE Range within(const Range& some) const {
    return {tiles(keys.end - some.end, B_c), (keys.end - some.begin) / B_c};
  }
};

template <class T, class S>
FLASHBOOK_DEVICE KeyTiles<S::B_c> key_tiles(const Assignment<T>& block) {
  const Range keys = block.visible().keys_of(block.rows(0, S::B_r));
  return {keys.is_empty() ? Range{0, 0} : keys};
}

/// As lane 0 has it: so the compiler, too, knows that a warp agrees (warpgroup()).
FLASHBOOK_DEVICE int uniform(int x) {
  return shuffle(x, 0);
}

// ---- the producer: a warp, of which lane 0 starts the copies

template <class T, class S>
struct Producer {
  Smem<T, S>& smem;
  const Parameters<T>& p;
  const Work work;
  const KeyTiles<S::B_c> tiles;
  int cleared = 0;  ///< tiles of V so far

  FLASHBOOK_DEVICE int kv_head() const { return work.head / p.tensors.sizes.group(); }
  FLASHBOOK_DEVICE int batch() const { return work.batch(p.members); }

  FLASHBOOK_DEVICE void produce() {
    if (tiles.count() == 0) return;
    if (mma::lane() == 0)
      load_rows(smem.Q, p.Q_map, work.q_token + work.first, work.head, batch(), smem.full_Q);
    load_keys(0);
    if (must_repeat(smem)) load_keys(tiles.count());
  }

  /// All tiles, as number `from` and on of the rings. A consumer wants K a tile earlier than V.
  FLASHBOOK_DEVICE void load_keys(int from) {
    const int count = tiles.count();
    for (int t = 0; t <= count; ++t) {
      if (t < count && mma::lane() == 0)
        smem.K.load(from + t, p.K_map, work.k_token + tiles.first(t), kv_head(), batch());
      if (t > 0) load_V(from + t - 1, tiles.first(t - 1));
    }
    sync_warp();
  }
  /// What lies before the first token of all is zeros already.
  FLASHBOOK_DEVICE void load_V(int number, int first) {
    const int hidden = tiles.keys.begin - first, token = work.k_token + first;
    if (hidden > 0 && token + hidden > 0)
      smem.V.load_cleared(number, p.V_map, token, kv_head(), batch(), hidden, smem.landed,
                          cleared++);
    else if (mma::lane() == 0)
      smem.V.load(number, p.V_map, token, kv_head(), batch());
  }
};

// ---- consumers: warpgroups of 64 rows each

/// Columns [8 from, 8 to) of S.
template <int from, int to, int n_8>
FLASHBOOK_DEVICE float (&part(float (&S)[1][n_8][4]))[1][to - from][4] {
  return reinterpret_cast<float(&)[1][to - from][4]>(S[0][from]);
}

/// What a block does is read where it is needed, so that it takes no registers in between.
template <class T, class S, Scores scores>
class Consumer {
  static constexpr int D = S::D, B_c = S::B_c, n_8 = B_c / 8;
  using Products = float[1][n_8][4];

 public:
  FLASHBOOK_DEVICE Consumer(Smem<T, S>& smem, const Parameters<T>& p, const Assignment<T>& block,
                            int number)
      : smem_(smem),
        p_(p),
        block_(block),
        turns_{number},
        in_tile_(64 * number),
        count_(uniform(key_tiles<T, S>(block).count())) {}

  FLASHBOOK_DEVICE void consume() {
    if (count_ > 0) {
      mbarrier_wait(smem_.full_Q, 0);
      if constexpr (keeps_Q<S>) load_Q(Q_, smem_.Q, in_tile_);
      int from = 0;
      Range unmasked = unmasked_tiles();
#pragma unroll 1
      while (!attend(from, unmasked) && from == 0) {
        clear();
        from = count_;
        unmasked = {0, 0};
      }
    }
    store_rows(p_, block_.work(), row(), O_, softmax_);
  }

 private:
  /// The member's row that is this thread's first; the other is row + 8.
  FLASHBOOK_DEVICE int row() const {
    return block_.work().first + mma::warp_row() - 64 + mma::lane() / 4;
  }
  FLASHBOOK_DEVICE void clear() {
    mma::clear(O_[0]);
    softmax_ = {};
    has_base_ = false;
  }
  /// Numbers of the tiles that all of the 64 rows see; none, if masking also scales.
  FLASHBOOK_DEVICE Range unmasked_tiles() const {
    if (!p_.e.folded()) return {0, 0};
    const Range rows = block_.rows(in_tile_, in_tile_ + 64);
    const Range some = key_tiles<T, S>(block_).within(block_.visible().keys_of_all(rows));
    return {uniform(some.begin), uniform(some.end)};
  }

  /// All tiles of keys, which are number `from` and on of the rings. `unmasked` ones are relative
  /// to the maximum that is there. Returns whether that did for all rows of the block.
  FLASHBOOK_DEVICE bool attend(int from, Range unmasked) {
    Products S_rmem;
    float factor[1][2];
    uint32_t P[1][n_8 / 2][4];
    turns_.open();
    smem_.K.wait(from);
    turns_.wait();
    wgmma_fence();
    start_S(S_rmem, from);
    turns_.pass();
    wgmma_wait<0>(accumulators(S_rmem));
    smem_.K.release(from);
    follow(S_rmem, 0, factor);
    softmax_.weigh(S_rmem, p_.e);
    mma::to_left<T>(P, S_rmem);

    for (int t = 1; t < count_; ++t) {
      // S = Q K^T, O = O + P V of the tile before
      smem_.K.wait(from + t);
      turns_.wait();
      wgmma_fence();
      start_S(S_rmem, from + t);
      smem_.V.wait(from + t - 1);
      start_PV<T, D>(O_, P, smem_.V[from + t - 1]);
      turns_.pass();
      wgmma_wait<1>(accumulators(S_rmem));
      smem_.K.release(from + t);

      // P = 2^(c (S - m)), while the tensor cores add to O
      bool follows = false;
      if (!has_base_ || !unmasked.holds(t))
        follows = follow(S_rmem, t, factor);
      else if constexpr (scores == Scores::capped)
        cap(S_rmem);
      softmax_.weigh(part<0, n_8 / 2>(S_rmem), p_.e);
      pin(accumulators(S_rmem));
      wgmma_wait<0>(accumulators(O_));
      smem_.V.release(from + t - 1);
      softmax_.weigh(part<n_8 / 2, n_8>(S_rmem), p_.e);
      if (follows) softmax_.rescale(O_, factor);
      mma::to_left<T>(P, S_rmem);
    }
    turns_.close();

    // O = O + P V of the last tile
    smem_.V.wait(from + count_ - 1);
    wgmma_fence();
    start_PV<T, D>(O_, P, smem_.V[from + count_ - 1]);
    wgmma_wait<0>(accumulators(O_));
    smem_.V.release(from + count_ - 1);
    if (from > 0) return true;
    const bool overflowed = any(!is_finite());
    if (mma::lane() == 0) smem_.overflowed(0, threadIdx.x / 32 - 4) = overflowed;
    return !must_repeat(smem_);
  }

  FLASHBOOK_DEVICE void start_S(Products& S_rmem, int t) {
    if constexpr (keeps_Q<S>)
      start_QK<T, D>(S_rmem, Q_, smem_.K[t]);
    else
      start_QK<T>(S_rmem, smem_.Q, in_tile_, smem_.K[t]);
  }

  /// Masks tile t, and the maxima follow it. Returns whether O must be multiplied by `factor`.
  FLASHBOOK_DEVICE bool follow(Products& S_rmem, int t, float (&factor)[1][2]) {
    if constexpr (scores == Scores::capped) cap(S_rmem);
    for_visible(S_rmem[0], block_.visible(), row(), key_tiles<T, S>(block_).first(t),
                [&](float s, int, int) { return p_.e.first * s; });
    float m_tile[1][2];
    softmax_.maxima(m_tile, S_rmem);
    const bool follows = softmax_.any_above(m_tile, p_.slack);
    if (follows) softmax_.follow(m_tile, factor, p_.e);
    has_base_ = all(has_base(0) && has_base(1));
    return follows;
  }
  FLASHBOOK_DEVICE void cap(Products& S_rmem) const {
#pragma unroll
    for (float& s : accumulators(S_rmem)) s = p_.capped(s);
  }
  /// Whether row h has a maximum, or never will.
  FLASHBOOK_DEVICE bool has_base(int h) const {
    const int i = row() + 8 * h;
    return softmax_.row[0][h].m > -INFINITY || i >= block_.work().n_q ||
           block_.visible().keys_of(i).is_empty();
  }

  /// Nothing of this thread's rows overflowed. NaN is taken for an overflow.
  FLASHBOOK_DEVICE bool is_finite() const {
    const int rows = block_.work().n_q - row();
    float zeros[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      zeros[h] = 0 * softmax_.row[0][h].l;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) zeros[h] = fmaf(0, O_[0][n][i], zeros[h]);
    }
    return (rows <= 0 || zeros[0] == 0) && (rows <= 8 || zeros[1] == 0);
  }

  Smem<T, S>& smem_;
  const Parameters<T>& p_;
  const Assignment<T>& block_;
  const Turns<S::consumers> turns_;
  const int in_tile_;  ///< the warpgroup's first row, in the block's
  const int count_;    ///< tiles of keys

  mma::Operand<D> Q_;
  float O_[1][D / 8][4] = {};
  mma::RowBlocks<1> softmax_;
  bool has_base_ = false;  ///< each row of the warp has a maximum, or never will
};

template <class T, class S, Scores scores>
FLASHBOOK_KERNEL(S::threads, 1)
forward(const FLASHBOOK_GRID_CONSTANT Parameters<T> p) {
  auto& smem = shared_memory<Smem<T, S>>();
  smem.initialise();
  const Assignment<T> block(smem.work, p, S::B_r);
  if (block.work().is_nothing()) return;
  specialise<S>(
      [&] {
        Producer<T, S>{smem, p, block.work(), key_tiles<T, S>(block)}.produce();
      },
      [&](int consumer) { Consumer<T, S, scores>(smem, p, block, consumer).consume(); });
}

// ---- the host's side

template <class T, int D>
LaunchStatus launch_all(const flashbook_problem& problem, const ForwardTensors& tensors, void*,
                        void* stream) {
  using S = Shape<D>;
  Parameters<T> p = {product_parameters<T>(problem, tensors), {}, 0};
  const Sizes& sizes = p.tensors.sizes;
  const int64_t heads = int64_t{sizes.heads_q} * sizes.batch;
  if (heads == 0 || sizes.n_q() == 0) return {};
  const LaunchStatus status = make_maps(p, p.tensors, {S::B_r, S::B_c});
  if (!status.ok()) return status;
  const float cap = p.options.softcap;
  if (cap > 0) {
    p.inverse_cap = std::min(1 / cap, std::numeric_limits<float>::max());
    p.set_exponents(1);
  }
  const auto kernel = cap > 0 ? forward<T, S, Scores::capped> : forward<T, S, Scores::products>;
  return launch_blocks("fa3", heads * tiles_of_head(sizes.n_q(), p.members, S::B_r), S::threads,
                       sizeof(Smem<T, S>), stream, kernel, p);
}

inline LaunchStatus launch_fa3(const flashbook_problem& problem, const ForwardTensors& tensors,
                               void*, void* stream) {
  return with_16_bit_type(problem, [&]<class T, int D>() {
    return launch_all<T, D>(problem, tensors, nullptr, stream);
  });
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fa3

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel fa3_forward = {
    "fa3",
    "the contract on Hopper GPUs",
    [](const flashbook_problem& p) { return hopper_product_refusal(p, compute_capability()); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    fa3::launch_fa3,
    {.nan_rows = 128, .nan_keys = 128, .hopper_only = true}};
}
