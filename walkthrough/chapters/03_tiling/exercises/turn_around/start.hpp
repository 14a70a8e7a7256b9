#pragma once

#include <algorithm>

#include "sim/io/tile_math.hpp"

using namespace flashbook::io;
using flashbook::Index;

/// One head: Q, K, V and O are [N, d]; m and l, [N], are space for a state that has to wait.
struct Attention {
  Index N, d, B_r, B_c;
  Tensor Q, K, V, O, m, l;
};

struct RowState {
  Tile O, m, l;  ///< [B_r, d], [B_r], [B_r]; O is not yet divided by l
};

inline Region region(Index first, Index rows, Index columns) {
  return {0, 0, first, rows, 0, columns};
}

inline RowState first_state(Sram& sram, Index rows, Index d) {
  RowState state = {sram.allocate("O", rows, d), sram.allocate("m", rows, 1),
                    sram.allocate("l", rows, 1)};
  state.O.setZero();
  state.m.setConstant(minus_infinity);
  state.l.setZero();
  return state;
}

/// Lets the keys of one tile into the state.
inline void take_in(Sram& sram, const Tile& Q, const Tile& K, const Tile& V, RowState& state) {
  Tile S = sram.allocate("S", Q.rows(), K.rows());
  set_product(sram, S, 1, Q, K.transpose());
  for (Index i = 0; i < S.rows(); ++i)
    state.O.row(i) *= absorb(S.row(i).array(), state.m(i), state.l(i));
  add_product(sram, state.O, S, V);
}

/// O divided by l.
inline void finish(RowState& state) {
  for (Index i = 0; i < state.O.rows(); ++i) state.O.row(i) /= state.l(i);
}

// Above is what you need, below what you change.

inline RowState load_state(Sram& sram, const Attention& a, Index first, Index rows) {
  return {sram.load(a.O, region(first, rows, a.d)), sram.load(a.m, region(first, rows, 1)),
          sram.load(a.l, region(first, rows, 1))};
}

inline void store_state(Sram& sram, const Attention& a, Index first, RowState& state) {
  const Index rows = state.O.rows();
  sram.store(state.O, a.O, region(first, rows, a.d));
  sram.store(state.m, a.m, region(first, rows, 1));
  sram.store(state.l, a.l, region(first, rows, 1));
}

inline void forward(Sram& sram, const Attention& a) {
  for (Index j = 0; j < a.N; j += a.B_c) {
    const Index keys = std::min(a.B_c, a.N - j);
    const Tile K = sram.load(a.K, region(j, keys, a.d));
    const Tile V = sram.load(a.V, region(j, keys, a.d));
    for (Index i = 0; i < a.N; i += a.B_r) {
      const Index rows = std::min(a.B_r, a.N - i);
      const Tile Q = sram.load(a.Q, region(i, rows, a.d));
      RowState state = j == 0 ? first_state(sram, rows, a.d) : load_state(sram, a, i, rows);
      take_in(sram, Q, K, V, state);
      if (j + keys == a.N) finish(state);
      store_state(sram, a, i, state);
    }
  }
}
