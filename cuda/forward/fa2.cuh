// The product kernel that the FlashAttention-2 ladder leads to, for sm_80 and up, with the whole
// contract (docs/contract.md) in fp16 and bf16: the rung lazy_rescale, and where it is faster
// ping_pong (fa2_turns.cuh), with one thing more. Once a maximum stands that takes products, nobody
// looks for one in a tile that all rows see: weights are relative to it, and their sums show if it
// is too low. Then the tile is weighed anew. So no exp2 waits for a maximum.
//
// An option costs nothing where it is absent. What changes a score itself (soft-cap, bias, ALiBi, a
// scale that is not folded into the exponent), and rows that are not chunks of 16 bytes, have
// instances of their own, Scores::options. Masks, windows, packed members, grouped heads and sinks
// are in all: they say which tiles a block visits, where they lie, and what becomes of a row at its
// end. In the loop over tiles that all rows see nothing of them is left. What a block does lies in
// shared memory, so that it takes no registers there.
#pragma once

#include <algorithm>

#include "cuda/forward/fa2_turns.cuh"
#include "cuda/forward/kernels.hpp"
#include "cuda/rules/async_tile_io.cuh"
#include "cuda/rules/product.cuh"
#include "cuda/rules/refusal.hpp"

namespace flashbook::FLASHBOOK_MACHINE::fa2 {

/// Rows of up to `d` channels: R blocks of 16 rows a warp, tiles of B_c keys, of which `stages` are
/// in shared memory. `resident` blocks share a multiprocessor.
template <int d, int keys = 64, int row_blocks = d <= 128 ? 2 : 1>
struct Shape {
  static constexpr int D = d, R = row_blocks, B_c = keys, B_r = 128, warps = B_r / (16 * R);
  static constexpr int threads = warps * 32, resident = R, stages = d <= 64 ? 2 : 1;
};

/// What scores are made of: products alone, all rows in chunks, or anything.
enum class Scores { products, options };

template <class T, class S>
struct Smem {
  Tile<T, S::B_r, S::D, XorSwizzle> Q;
  Tile<T, S::B_c, S::D, XorSwizzle> K[S::stages], V[S::stages];
  WorkTiles work;
};

/// Rows of a matrix into a tile, from row `first` on; zeros where not valid.holds(row).
template <Scores scores, class S, class Tile, class T>
FLASHBOOK_DEVICE void copy(Tile& tile, const Matrix<const T>& from, int first, Range valid) {
  if constexpr (scores == Scores::products)
    load_chunks_async<S::threads, S::D>(tile, from, first, valid);
  else
    load_async<S::threads, S::D>(tile, from, first, valid);
}

template <class T, class S, Scores scores>
FLASHBOOK_KERNEL(S::threads, S::resident)
forward(const ProductParameters<T> p) {
  constexpr int D = S::D, R = S::R, B_r = S::B_r, B_c = S::B_c;
  Smem<T, S>& smem = shared_memory<Smem<T, S>>();
  const Assignment<T> block(smem.work, p, B_r);
  if (block.work().is_nothing()) return;
  const auto keys = [&] { return block.visible().keys_of(block.rows(0, B_r)); };
  const auto full_keys = [&] { return block.visible().keys_of_all(block.rows(0, B_r)); };
  const int end = keys().begin / B_c * B_c;  // the last tile: the first is that of the last keys
  int j = (tiles(keys().end, B_c) - 1) * B_c, stage = 0;

  float O[R][D / 8][4] = {};
  mma::RowBlocks<R> rows;
  rows.by_product = false;  // no maximum stands yet
  const int warp_row = threadIdx.x / 32 * 16 * R, lane_row = warp_row + mma::lane() / 4;
  using Share = ChunkShare<T, S::threads, D>;
  gmem<const T> K_next, V_next;  // this thread's part of what is copied next
  if (j >= end) {
    copy<scores, S>(smem.Q, block.Q(), block.work().first, {0, block.work().n_q});
    copy<scores, S>(smem.K[0], block.K(), j, keys());
    if constexpr (S::stages == 2) copy<scores, S>(smem.V[0], block.V(), j, keys());
    K_next = Share::source(block.K(), j - B_c);
    V_next = Share::source(block.V(), S::stages == 2 ? j - B_c : j);
  }
  cp_async_commit();

  const auto add_tile = [&](auto is_full) {
    const auto copy_keys = [&](auto& to, gmem<const T>& source, const Matrix<const T>& from,
                               int first) {
      if (first >= end) {
        if constexpr (is_full)
          copy_chunks_async<S::threads, D>(to, source, from, [](int) { return true; });
        else
          copy<scores, S>(to, from, first, keys());
      }
      source = source + -(B_c * from.stride);
      cp_async_commit();
    };
    auto &K = smem.K[stage], &V = smem.V[stage];
    cp_async_wait<0>();
    sync_threads();  // Q and K are everybody's, nobody reads V any more
    if constexpr (S::stages == 2) {
      copy_keys(smem.K[1 - stage], K_next, block.K(), j - B_c);
      copy_keys(smem.V[1 - stage], V_next, block.V(), j - B_c);
    } else {
      copy_keys(V, V_next, block.V(), j);
    }

    // S = Q K^T, P = 2^(c (S - m)), and where m must follow S, O = 2^(c (m_old - m)) O
    float S_rmem[R][B_c / 8][4];
    uint32_t P[R][B_c / 16][4];
    mma::multiply_QK<T, D>(S_rmem, smem.Q, warp_row, K);
    bool weighed = false;
    if constexpr (is_full) {
      if (rows.by_product) {
        weighed = rows.template weigh_standing<T>(P, S_rmem, p.e);
        if (!weighed) mma::multiply_QK<T, D>(S_rmem, smem.Q, warp_row, K);  // S was not kept
      }
    } else {
      const Work of = block.work();
      const HeadOptions<T> head(p.options, p.members, of, p.tensors.sizes.scale);
      const auto change = [&](float s, int i, int key) {
        return scores == Scores::products ? s : head.score(s, i, key);
      };
#pragma unroll
      for (int r = 0; r < R; ++r)
        for_visible(S_rmem[r], block.visible(), of.first + lane_row + 16 * r, j, change);
    }
    if (!weighed) rows.template weigh_anew<T>(P, S_rmem, O, p.e);

    // O += P V
    if constexpr (S::stages == 1) {
      cp_async_wait<0>();
      sync_threads();  // V is everybody's, nobody reads K any more
      copy_keys(K, K_next, block.K(), j - B_c);
    }
    mma::add_PV<T, D>(O, P, V);
    j -= B_c;
    if constexpr (S::stages == 2) stage = 1 - stage;
  };
  while (j >= end) {
    if constexpr (scores == Scores::products) {
      const Range full = full_keys();
      // Left of a window's begin, V that was copied a tile ahead must have been tested, too.
      const int full_begin = full.begin + (S::stages == 2 && full.begin > 0 ? B_c : 0);
      if (full_begin <= j && j + B_c <= full.end)
        while (j >= full_begin) add_tile(std::true_type());
      else
        add_tile(std::false_type());
    } else {
      add_tile(std::false_type());
    }
  }

  // O = O / l, LSE = m + ln l
  store_rows<D>(p, block.work(), block.work().first + warp_row, smem.Q, warp_row, O, rows);
}

/// A launch of the instance that its problem and its device ask for.
template <class T>
class Launch {
 public:
  Launch(const flashbook_problem& problem, const ForwardTensors& tensors, void* stream)
      : p_(product_parameters<T>(problem, tensors)), stream_(stream) {}

  /// With the narrowest shape that holds a row. Where options matter there are fewer of them, and
  /// they need least shared memory.
  LaunchStatus start() {
    const int d = std::max(p_.tensors.sizes.d, p_.tensors.sizes.d_v);
    const bool fits = d <= 128 || (d <= 192 ? fits_turns<192>() : fits_turns<256>());
    if (!p_.only_products() || !fits) {
      p_.e = Exponents(1);
      if (d <= 64) return start<Shape<64>, Scores::options>();
      if (d <= 128) return start<Shape<128, 64, 1>, Scores::options>();
      return start<Shape<256, 32>, Scores::options>();
    }
    if (d <= 32) return start<Shape<32>, Scores::products>();
    if (d <= 64 && is_short()) return start<Shape<64>, Scores::products>();
    if (d <= 64) return start_turns<64>();
    if (d <= 96) return start<Shape<96>, Scores::products>();
    if (d <= 128) return start<Shape<128>, Scores::products>();
    if (d <= 192) return start_turns<192>();
    return start_turns<256>();
  }
  /// The same of one instance.
  template <class S, Scores scores>
  LaunchStatus start() const {
    return start<S, Smem<T, S>>(forward<T, S, scores>);
  }

 private:
  /// So few rows that blocks of 256 leave multiprocessors idle or, causal, compute much that nobody
  /// sees; never if packed: what becomes of a member must not depend on the others.
  bool is_short() const {
    const Visible& visible = p_.tensors.sizes.visible;
    return !p_.members.packed && visible.n_q <= (visible.right < most_tokens ? 1024 : 512);
  }
  template <int d>
  bool fits_turns() const {
    return sizeof(typename Turns<d>::template Smem<T>) <= most_shared_bytes(stream_);
  }
  template <int d>
  LaunchStatus start_turns() const {
    return start<Turns<d>, typename Turns<d>::template Smem<T>>(forward_in_turns<T, Turns<d>>);
  }
  template <class S, class Smem>
  LaunchStatus start(void (*kernel)(ProductParameters<T>)) const {
    const Sizes& sizes = p_.tensors.sizes;
    const int64_t heads = int64_t{sizes.heads_q} * sizes.batch;
    return launch_blocks("fa2", heads * tiles_of_head(sizes.n_q(), p_.members, S::B_r), S::threads,
                         sizeof(Smem), stream_, kernel, p_);
  }

  ProductParameters<T> p_;
  void* stream_;
};

inline LaunchStatus launch_fa2(const flashbook_problem& problem, const ForwardTensors& tensors,
                               void*, void* stream) {
  if (problem.dtype == FLASHBOOK_FP16) return Launch<half>(problem, tensors, stream).start();
  return Launch<bfloat16>(problem, tensors, stream).start();
}

}  // namespace flashbook::FLASHBOOK_MACHINE::fa2

namespace flashbook::FLASHBOOK_MACHINE {
const ForwardKernel fa2_forward = {
    "fa2",
    "the whole contract",
    [](const flashbook_problem& problem) { return size_refusal(problem, true); },
    [](const flashbook_problem&) { return std::size_t{0}; },
    fa2::launch_fa2,
    {.nan_rows = 256, .nan_keys = 64}};
}
