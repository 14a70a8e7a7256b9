// The product kernel that the FlashAttention-2 ladder leads to, for sm_80 and up: the rung
// lazy_rescale with the whole contract (docs/contract.md) in fp16 and bf16.
//
// An option costs nothing where it is absent. What changes a score itself (soft-cap, bias, ALiBi, a
// scale that is not folded into the exponent), and rows that are not chunks of 16 bytes, have
// instances of their own, Scores::options. Masks, windows, packed members, grouped heads and sinks
// are in all: they say which tiles a block visits, where they lie, and what becomes of a row at its
// end. In the loop over tiles that all rows see nothing of them is left. What a block does lies in
// shared memory, so that it takes no registers there.
#pragma once

#include <algorithm>

#include "cuda/forward/kernels.hpp"
#include "cuda/rules/async_tile_io.cuh"
#include "cuda/rules/launcher.cuh"
#include "cuda/rules/refusal.hpp"
#include "cuda/rules/row_blocks.cuh"
#include "cuda/rules/score_options.cuh"

namespace flashbook::FLASHBOOK_MACHINE::fa2 {

/// Rows of up to `d` channels: R blocks of 16 rows a warp, tiles of B_c keys. `resident` blocks
/// share a multiprocessor. A block of Shape<256> takes 128 KiB of shared memory, which not every
/// device has; with 32 keys it is 96.
template <int d, int keys = 64, int row_blocks = d <= 128 ? 2 : 1>
struct Shape {
  static constexpr int D = d, R = row_blocks, B_c = keys, B_r = 128, warps = B_r / (16 * R);
  static constexpr int threads = warps * 32, resident = R;
};

/// What scores are made of: products alone, all rows in chunks, or anything.
enum class Scores { products, options };

/// What a launch passes its blocks. Numbers that all compute alike are constants to them.
template <class T>
struct Parameters {
  ForwardParameters<T> tensors;
  Members members;
  Options<T> options;
  Exponents e;  ///< of scores: of products, or of what the options made of them
  float slack;  ///< the maximum follows scores that are so much larger: weights grow to 2^8
};

/// Rows in shared memory. At D = 128 they are padded, not swizzled: whatever column is read then
/// lies at a fixed distance from one address, and the nine that a swizzle has more would spill.
template <class T, class S, int rows>
using Rows = std::conditional_t<S::D == 128, Tile<T, rows, S::D + 16 / sizeof(T)>,
                                Tile<T, rows, S::D, XorSwizzle>>;

template <class T, class S>
struct Smem {
  Rows<T, S, S::B_r> Q;
  Rows<T, S, S::B_c> K, V;
  WorkTile work;
  Tile<int64_t, 1, 2> first_key;  ///< where the member's first rows of K and V lie, of the head
};

/// Rows of a matrix into a tile, from row `first` on; zeros where not valid.holds(row).
template <Scores scores, class S, class Tile, class T>
FLASHBOOK_DEVICE void copy(Tile& tile, const Matrix<const T>& from, int first, Range valid) {
  if constexpr (scores == Scores::products)
    load_chunks_async<S::threads, S::D>(tile, from, first, valid);
  else
    load_async<S::threads, S::D>(tile, from, first, valid);
}

/// Calls change(s, i, j) for each score of this lane, of row i and key j, that the row sees; the
/// others become -infinity. The tile of 16 rows begins with the rows `row` and `row` + 8 of this
/// lane, and with key `first_key`.
template <int n_8, class Change>
FLASHBOOK_DEVICE void for_visible(float (&S)[n_8][4], const Visible& visible, int row,
                                  int first_key, const Change& change) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int i = row + 8 * h, first = first_key + mma::lane() % 4 * 2;
    const Range keys = i < visible.n_q ? visible.keys_of(i) : Range{0, 0};
#pragma unroll
    for (int n = 0; n < n_8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& s = S[n][2 * h + e];
        const int j = first + 8 * n + e;
        s = keys.holds(j) ? change(s, i, j) : -INFINITY;
      }
  }
}

/// Row h of O becomes O / l, and 0 if it saw nothing. Returns its LSE, m + ln l. A sink's logit z
/// adds e^(z - m) to l; -infinity adds nothing.
template <int n_8>
FLASHBOOK_DEVICE float normalise(float (&O)[n_8][4], int h, const RowState& row, float scale,
                                 float z) {
  const float m_row = scale * row.m, m = fmaxf(m_row, z), base = base_of(m);
  const float rescale = exponential(m_row - base);
  const float l = rescale * row.l + exponential(z - base), factor = rescale / l;
#pragma unroll
  for (int n = 0; n < n_8; ++n)
#pragma unroll
    for (int i = 2 * h; i < 2 * h + 2; ++i) O[n][i] = row.l == 0 ? 0 : O[n][i] * factor;
  return m + logf(l);
}

/// O and the LSE of this lane's rows, `row` + 16 r + 8 h of the member; l is still its own part.
template <class T, int R, int n_8>
FLASHBOOK_DEVICE void store_rows(const Parameters<T>& parameters, const Work& work, int row,
                                 float (&O)[R][n_8][4], mma::RowBlocks<R>& rows) {
  const ForwardParameters<T>& p = parameters.tensors;
  const int batch = work.batch(parameters.members);
  const Matrix<T> to = p.O.at(p.O.offset(batch, work.head, work.q_token));
  const float z = sink_of(parameters.options, parameters.members, work);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = row + 16 * r + 8 * h;
      RowState& state = rows.row[r][h];
      state.l = lanes_sum<4>(state.l);
      if (i >= work.n_q) continue;
      const float lse = normalise(O[r], h, state, parameters.e.scale, z);
      mma::store_row(to, i, O[r], h);
      if (mma::lane() % 4 == 0) p.lse(p.sizes.lse_row(batch, work.head) + work.q_token + i) = lse;
    }
}

template <class T, class S, Scores scores>
FLASHBOOK_KERNEL(S::threads, S::resident)
forward(const Parameters<T> parameters) {
  constexpr int D = S::D, R = S::R, B_r = S::B_r, B_c = S::B_c;
  const ForwardParameters<T>& p = parameters.tensors;
  const Members& members = parameters.members;
  const Exponents& e = parameters.e;
  Smem<T, S>& smem = shared_memory<Smem<T, S>>();
  if (threadIdx.x == 0) {
    const Work work = work_of(blockIdx.x, p.sizes, members, B_r);
    store_work(smem.work, work);
    const int batch = work.batch(members), head = work.head / p.sizes.group();
    smem.first_key(0, 0) = p.K.offset(batch, head, work.k_token);
    smem.first_key(0, 1) = p.V.offset(batch, head, work.k_token);
  }
  sync_threads();  // what to do is everybody's
  const Work work = load_work(smem.work);
  if (work.is_nothing()) return;

  const auto K = [&] { return p.K.at(smem.first_key(0, 0)); };
  const auto V = [&] { return p.V.at(smem.first_key(0, 1)); };
  const auto keys_of_block = [&] {
    const Work of = load_work(smem.work);
    return of.visible(p.sizes).keys_of(Range{of.first, of.first + B_r});
  };
  const auto full_keys_of_block = [&] {
    const Work of = load_work(smem.work);
    return of.visible(p.sizes).keys_of_all(Range{of.first, of.first + B_r});
  };
  const Range keys = keys_of_block();
  const int end = keys.begin / B_c * B_c;  // the last tile: the first is that of the last keys
  int j = (tiles(keys.end, B_c) - 1) * B_c;

  float O[R][D / 8][4] = {};
  mma::RowBlocks<R> rows;
  const int warp_row = threadIdx.x / 32 * 16 * R;
  const auto row = [&](const Work& of) { return of.first + warp_row + mma::lane() / 4; };
  if (j >= end) {
    const int64_t first_row = p.Q.offset(work.batch(members), work.head, work.q_token);
    copy<scores, S>(smem.Q, p.Q.at(first_row), work.first, {0, work.n_q});
    copy<scores, S>(smem.K, K(), j, keys);
  }
  cp_async_commit();

  const auto add_tile = [&](auto is_full) {
    const auto copy_keys = [&](auto& to, const Matrix<const T>& from, int first) {
      if constexpr (is_full)
        load_full_async<S::threads, D>(to, from, first);
      else
        copy<scores, S>(to, from, first, keys_of_block());
      cp_async_commit();
    };
    cp_async_wait<0>();
    sync_threads();  // Q and K are everybody's, nobody reads V any more
    copy_keys(smem.V, V(), j);

    // S = Q K^T, P = 2^(c (S - m))
    float S_rmem[R][B_c / 8][4];
    mma::multiply_QK<T, D>(S_rmem, smem.Q, warp_row, smem.K);

    cp_async_wait<0>();
    sync_threads();  // V is everybody's, nobody reads K any more
    if (j > end) copy_keys(smem.K, K(), j - B_c);
    if constexpr (!is_full) {
      const Work of = load_work(smem.work);
      const HeadOptions<T> head(parameters.options, members, of, p.sizes.scale);
      const auto change = [&](float s, int i, int key) {
        return scores == Scores::products ? s : head.score(s, i, key);
      };
#pragma unroll
      for (int r = 0; r < R; ++r)
        for_visible(S_rmem[r], of.visible(p.sizes), row(of) + 16 * r, j, change);
    }

    // O = 2^(c (m_old - m)) O + P V
    float m_tile[R][2];
    rows.maxima(m_tile, S_rmem);
    if (rows.any_above(m_tile, parameters.slack)) rows.raise(m_tile, O, e);
    if constexpr (is_full)
      rows.weigh(S_rmem, e);
    else
      rows.weigh_differences(S_rmem, e);  // a subtraction a weight more, and a branch less
    uint32_t P[R][B_c / 16][4];
    mma::to_left<T>(P, S_rmem);
    mma::add_PV<T, D>(O, P, smem.V);
    j -= B_c;
  };
  while (j >= end) {
    if constexpr (scores == Scores::products) {
      const Range full = full_keys_of_block();
      if (full.begin <= j && j + B_c <= full.end)
        while (j >= full.begin) add_tile(std::true_type());
      else
        add_tile(std::false_type());
    } else {
      add_tile(std::false_type());
    }
  }

  // O = O / l, LSE = m + ln l
  const Work done = load_work(smem.work);
  store_rows(parameters, done, row(done), O, rows);
}

inline Members members_of(const flashbook_problem& problem, const ForwardTensors& tensors) {
  const int count = problem.packed ? static_cast<int>(problem.members) : 0;
  const std::ptrdiff_t offsets = problem.packed ? count + 1 : 0;
  return {problem.packed != 0,
          problem.alignment == FLASHBOOK_BOTTOM_RIGHT,
          count,
          {tensors.cu_seqlens_q, offsets},
          {tensors.cu_seqlens_k, offsets}};
}

template <class T>
Options<T> options_of(const flashbook_problem& problem, const ForwardTensors& tensors) {
  Options<T> options = {};
  options.softcap = static_cast<float>(problem.softcap);
  options.has_bias = problem.has_bias != 0;
  options.has_slopes = problem.alibi != FLASHBOOK_NO_ALIBI;
  options.has_sinks = problem.has_sinks != 0;
  Span bias = {0, 1};
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t size = problem.bias_shape[axis];
    options.bias_strides[axis] = size > 1 ? problem.bias_strides[axis] : 0;
    const int64_t reach = (size - 1) * options.bias_strides[axis];
    bias.size += reach < 0 ? -reach : reach;
    if (reach < 0) bias.first += reach;
  }
  if (options.has_bias)
    options.bias =
        gmem<const T>(static_cast<const T*>(tensors.bias) + bias.first, bias.size) + -bias.first;
  const bool of_members = problem.alibi == FLASHBOOK_ALIBI_BH;
  options.slopes_of_member = of_members ? problem.heads_q : 0;
  options.slopes = {static_cast<const T*>(tensors.alibi),
                    problem.heads_q * (of_members ? problem.members : 1)};
  options.sinks = {static_cast<const T*>(tensors.sinks), problem.heads_q};
  return options;
}

/// A launch of the instance that its problem and its device ask for.
template <class T>
class Launch {
 public:
  Launch(const flashbook_problem& problem, const ForwardTensors& tensors, void* stream)
      : tensors_(forward_parameters<T>(problem, tensors)),
        members_(members_of(problem, tensors)),
        options_(options_of<T>(problem, tensors)),
        stream_(stream) {}

  /// With the narrowest shape that holds a row. Where options matter there are fewer of them.
  LaunchStatus start() const {
    const int d = std::max(tensors_.sizes.d, tensors_.sizes.d_v);
    if (!only_products() || (d > 192 && !fits<Shape<256>>())) {
      if (d <= 64) return start<Shape<64>, Scores::options>();
      if (d <= 128) return start<Shape<128, 64, 1>, Scores::options>();
      return start<Shape<256, 32>, Scores::options>();
    }
    if (d <= 32) return start<Shape<32>, Scores::products>();
    if (d <= 64) return start<Shape<64>, Scores::products>();
    if (d <= 96) return start<Shape<96>, Scores::products>();
    if (d <= 128) return start<Shape<128>, Scores::products>();
    if (d <= 192) return start<Shape<192>, Scores::products>();
    return start<Shape<256>, Scores::products>();
  }

 private:
  bool only_products() const {
    return Exponents::folds(tensors_.sizes.scale) && !options_.change_scores() &&
           tensors_.Q.in_chunks && tensors_.K.in_chunks && tensors_.V.in_chunks;
  }
  template <class S>
  bool fits() const {
    return sizeof(Smem<T, S>) <= most_shared_bytes(stream_);
  }
  template <class S, Scores scores>
  LaunchStatus start() const {
    const Sizes& sizes = tensors_.sizes;
    const int64_t heads = int64_t{sizes.heads_q} * sizes.batch;
    const Exponents e(scores == Scores::products ? sizes.scale : 1);
    const Parameters<T> parameters = {tensors_, members_, options_, e, 8 / e.c};
    return launch_blocks("fa2", heads * tiles_of_head(sizes.n_q(), members_, S::B_r), S::threads,
                         sizeof(Smem<T, S>), stream_, forward<T, S, scores>, parameters);
  }

  ForwardParameters<T> tensors_;
  Members members_;
  Options<T> options_;
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
    {.nan_rows = 128, .nan_keys = 64}};
}
