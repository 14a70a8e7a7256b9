// What product kernels share: what a launch passes its blocks, what a block does, scores as the
// options make them, and rows at their end.
#pragma once

#include <bit>

#include "cuda/rules/launcher.cuh"
#include "cuda/rules/row_blocks.cuh"
#include "cuda/rules/score_options.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

/// What a launch passes its blocks. Numbers that all compute alike are constants to them.
template <class T>
struct ProductParameters {
  ForwardParameters<T> tensors;
  Members members;
  Options<T> options;
  Exponents e = Exponents(1);  ///< of scores: of products, or of what the options made of them
  float slack = 0;  ///< the maximum follows scores that are so much larger: weights grow to 2^8

  void set_exponents(float scale) {
    e = Exponents(scale);
    slack = 8 / e.c;
  }
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

/// O and the LSE of this lane's rows, `row` + 16 r + 8 h of the member; l is still its own part.
template <class T, int R, int n_8>
FLASHBOOK_DEVICE void store_rows(const ProductParameters<T>& parameters, const Work& work, int row,
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
  p.set_exponents(p.tensors.sizes.scale);
  return p;
}

}  // namespace flashbook::FLASHBOOK_MACHINE
