// What product kernels share: what a launch passes its blocks, what a block does, scores as the
// options make them, and rows at their end.
#pragma once

#include <bit>

#include "cuda/rules/launcher.cuh"
#include "cuda/rules/row_blocks.cuh"
#include "cuda/rules/score_options.cuh"
#include "cuda/rules/store_rows.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// What a launch passes its blocks. Numbers that all compute alike are constants to them.
template <class T>
struct ProductParameters {
  ForwardParameters<T> tensors;
  Members members;
  Options<T> options;
  Exponents e = Exponents(1);  ///< of scores: of products, or of what the options made of them
  /// Scores are products of rows in chunks, with a scale that is left to the exponent.
  bool only_products() const {
    return e.folded() && !options.change_scores() && tensors.Q.in_chunks && tensors.K.in_chunks &&
           tensors.V.in_chunks;
  }
};

/// Where a block's work lies in shared memory.
struct WorkTiles {
  Tile<int, 1, 8> work;
  Tile<int64_t, 1, 2> first_key;  ///< offsets of the member's first rows of K and V, of the head
};

/// What a block does. One thread finds it; it stays in shared memory, and is read where it is
/// needed, so that it takes no registers in between.
template <class T>
class Assignment {
 public:
  /// All threads of the block, together. The block computes `size` rows.
  FLASHBOOK_DEVICE Assignment(WorkTiles& smem, const ProductParameters<T>& p, int size)
      : smem_(smem), p_(p) {
    if (threadIdx.x == 0) {
      const Sizes& sizes = p.tensors.sizes;
      const Work work = work_of(blockIdx.x, sizes, p.members, size);
      const auto halves = std::bit_cast<Halves>(work);
      store_vector(smem.work.at(0, 0), halves.low);
      store_vector(smem.work.at(0, 4), halves.high);
      const int batch = work.batch(p.members), head = work.head / sizes.group();
      smem.first_key(0, 0) = p.tensors.K.offset(batch, head, work.k_token);
      smem.first_key(0, 1) = p.tensors.V.offset(batch, head, work.k_token);
    }
    sync_threads();  // what to do is everybody's
  }

  FLASHBOOK_DEVICE Work work() const {
    return std::bit_cast<Work>(
        Halves{load_vector<uint4>(smem_.work.at(0, 0)), load_vector<uint4>(smem_.work.at(0, 4))});
  }
  FLASHBOOK_DEVICE Visible visible() const { return work().visible(p_.tensors.sizes); }
  /// The block's rows from `begin` to `end`, as rows of the member.
  FLASHBOOK_DEVICE Range rows(int begin, int end) const {
    const int first = work().first;
    return {first + begin, first + end};
  }

  FLASHBOOK_DEVICE Matrix<const T> Q() const {
    const Work of = work();
    return p_.tensors.Q.at(p_.tensors.Q.offset(of.batch(p_.members), of.head, of.q_token));
  }
  FLASHBOOK_DEVICE Matrix<const T> K() const { return p_.tensors.K.at(smem_.first_key(0, 0)); }
  FLASHBOOK_DEVICE Matrix<const T> V() const { return p_.tensors.V.at(smem_.first_key(0, 1)); }

 private:
  struct Halves {
    uint4 low, high;
  };
  WorkTiles& smem_;
  const ProductParameters<T>& p_;
};

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

/// O becomes O / l and is stored by store(O[r], h, i), i-th of the warp's rows, of which the first
/// is `first` of the member; and so is the LSE. l is still this lane's part.
template <class T, int R, int n_8, class Store>
FLASHBOOK_DEVICE void finish_rows(const ProductParameters<T>& parameters, const Work& work,
                                  int first, float (&O)[R][n_8][4], mma::RowBlocks<R>& rows,
                                  const Store& store) {
  const ForwardParameters<T>& p = parameters.tensors;
  const float z = sink_of(parameters.options, parameters.members, work);
  const int64_t lse_row = p.sizes.lse_row(work.batch(parameters.members), work.head);
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int below = mma::lane() / 4 + 16 * r + 8 * h;
      RowState& state = rows.row[r][h];
      state.l = lanes_sum<4>(state.l);
      const float lse = normalise(O[r], h, state, parameters.e.scale, z);
      store(O[r], h, below);
      if (first + below < work.n_q && mma::lane() % 4 == 0)
        p.lse(lse_row + work.q_token + first + below) = lse;
    }
}

/// A warp stores `rows` rows of a tile, from `tile_row` on, to the rows of a matrix from `first` to
/// `end`, 16 bytes a lane.
template <int D, int rows, class T, class Tile>
FLASHBOOK_DEVICE void store_chunks(const Matrix<T>& to, int first, int end, Tile& tile,
                                   int tile_row) {
  constexpr int chunk = 16 / sizeof(T), per_row = D / chunk, count = rows * per_row / 32;
  constexpr int at_once = count < 4 ? count : 4;  // loads before stores, which would wait for them
#pragma unroll
  for (int n = 0; n < count; n += at_once) {
    uint4 x[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      const int e = mma::lane() + 32 * (n + u);
      x[u] = load_vector<uint4>(tile.at(tile_row + e / per_row, e % per_row * chunk));
    }
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      const int e = mma::lane() + 32 * (n + u), i = first + e / per_row, c = e % per_row * chunk;
      if (i < end && c < to.columns) store_vector(to.row(i) + c, x[u]);
    }
  }
}
/// The same element by element.
template <int D, int rows, class T, class Tile>
FLASHBOOK_DEVICE void store_elements(const Matrix<T>& to, int first, int end, Tile& tile,
                                     int tile_row) {
#pragma unroll 1
  for (int e = mma::lane(); e < rows * D; e += 32) {
    const int i = e / D, c = e % D;
    if (first + i < end && c < to.columns) to.row(first + i)(c) = T(tile(tile_row + i, c));
  }
}

/// O and the LSE of a warp's rows, `first` and the following of the member. O goes through the
/// warp's rows of the tile of Q: a lane holds 4 bytes of a row, and stores 16.
template <int D, class T, int R, class Tile>
FLASHBOOK_DEVICE void store_rows(const ProductParameters<T>& parameters, const Work& work,
                                 int first, Tile& tile, int warp_row, float (&O)[R][D / 8][4],
                                 mma::RowBlocks<R>& rows) {
  sync_warp();  // no lane reads Q any more
  finish_rows(parameters, work, first, O, rows, [&](float(&O_r)[D / 8][4], int h, int i) {
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      store_vector(tile.at(warp_row + i, 8 * n + mma::lane() % 4 * 2),
                   pack<T>(O_r[n][2 * h], O_r[n][2 * h + 1]));
  });
  sync_warp();  // O is in the tile
  const ForwardParameters<T>& p = parameters.tensors;
  const Matrix<T> to = p.O.at(p.O.offset(work.batch(parameters.members), work.head, work.q_token));
  if (to.in_chunks)
    store_chunks<D, 16 * R>(to, first, work.n_q, tile, warp_row);
  else
    store_elements<D, 16 * R>(to, first, work.n_q, tile, warp_row);
}

/// The same from the registers, where no tile is free.
template <class T, int R, int n_8>
FLASHBOOK_DEVICE void store_fragments(const ProductParameters<T>& parameters, const Work& work,
                                      int first, float (&O)[R][n_8][4], mma::RowBlocks<R>& rows) {
  const ForwardParameters<T>& p = parameters.tensors;
  const Matrix<T> to = p.O.at(p.O.offset(work.batch(parameters.members), work.head, work.q_token));
  finish_rows(parameters, work, first, O, rows, [&](float(&O_r)[n_8][4], int h, int i) {
    const bool exists = first + i < work.n_q;
    if (to.in_chunks)
      mma::store_row_in_chunks(to, first + i, exists, O_r, h, 1);
    else if (exists)
      mma::store_row(to, first + i, O_r, h);
  });
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
  if (options.has_slopes)
    options.slopes = {static_cast<const T*>(tensors.alibi),
                      problem.heads_q * (of_members ? problem.members : 1)};
  if (options.has_sinks) options.sinks = {static_cast<const T*>(tensors.sinks), problem.heads_q};
  return options;
}

template <class T>
ProductParameters<T> product_parameters(const flashbook_problem& problem,
                                        const ForwardTensors& tensors) {
  ProductParameters<T> p = {forward_parameters<T>(problem, tensors), members_of(problem, tensors),
                            options_of<T>(problem, tensors)};
  p.e = Exponents(p.tensors.sizes.scale);
  return p;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
