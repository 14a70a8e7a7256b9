// Kernels that execute every instruction of cuda/isa/hopper.cuh and write down what it gave, as
// 32-bit words.
#pragma once

#include "cuda/isa/hopper.cuh"
#include "tests/simt/conformance/probes.cuh"

namespace flashbook::FLASHBOOK_MACHINE::probes {

/// Words in and out, and a tensor.
struct TensorParameters {
  TensorMap map;
  gmem<const uint32_t> in;
  gmem<uint32_t> out;
  int n;          // places, or whatever is done n times
  int box_words;  // in a box
};

constexpr int box_words = 1024;  // at most

struct BoxSmem {
  Tile<uint32_t, 1, box_words> box;  // at the beginning, so aligned for every swizzle
  Mbarrier full, peer;
};

FLASHBOOK_DEVICE void initialise(Mbarrier& barrier, int arrivals) {
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, arrivals);
    fence_mbarrier_init();
  }
  sync_threads();
}

/// Two warps hand words on by an mbarrier for each direction, 5 times: in [32], out [5][2][32].
FLASHBOOK_KERNEL(64) mbarriers(const Parameters p) {
  BoxSmem& smem = shared_memory<BoxSmem>();
  const int lane = threadIdx.x % 32;
  initialise(smem.full, 32);
  initialise(smem.peer, 1);
  uint32_t word = p.in(lane);
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x < 32) {
      smem.box(0, lane) = word + round;
      mbarrier_arrive(smem.full);
      while (!mbarrier_try_wait(smem.peer, round % 2)) {
      }
      word = smem.box(0, 32 + (lane ^ 1));
    } else {
      mbarrier_wait(smem.full, round % 2);
      word = 3 * smem.box(0, 31 - lane);
      smem.box(0, 32 + lane) = word;
      sync_warp();  // all have written
      mbarrier_arrive_if(smem.peer, lane == 7);
    }
    p.out(round * 64 + threadIdx.x) = word;
  }
}

/// The boxes of a tensor at n places, as they lie in shared memory: in [n][rank], out
/// [n][box_words].
template <int rank>
FLASHBOOK_KERNEL(32)
boxes(const FLASHBOOK_GRID_CONSTANT TensorParameters p) {
  BoxSmem& smem = shared_memory<BoxSmem>();
  initialise(smem.full, 1);
  for (int i = 0; i < p.n; ++i) {
    int at[rank];
    for (int d = 0; d < rank; ++d) at[d] = static_cast<int>(p.in(i * rank + d));
    if (threadIdx.x == 0) {
      mbarrier_expect_tx(smem.full, p.box_words * 2);
      mbarrier_arrive_expect_tx(smem.full, p.box_words * 2);
      tma_load(smem.box.at(0, 0), p.map, at, smem.full, L2::keep);
    }
    mbarrier_wait(smem.full, i % 2);
    for (int w = threadIdx.x; w < p.box_words; w += 32) p.out(i * p.box_words + w) = smem.box(0, w);
    sync_threads();  // nobody reads what is now overwritten
  }
}

/// Each block of a cluster loads its part of a box for all, and tells the next block that it has
/// read: out [blocks][box_words].
FLASHBOOK_KERNEL(32) multicast(const FLASHBOOK_GRID_CONSTANT TensorParameters p) {
  BoxSmem& smem = shared_memory<BoxSmem>();
  const int rank = cluster_rank(), part = p.box_words;  // words of a part
  initialise(smem.full, 1);
  initialise(smem.peer, 1);
  cluster_sync();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(smem.full, p.n * part * 4);
    tma_load_multicast(smem.box.at(0, rank * part), p.map, {0, rank * 8 - 4}, smem.full,
                       (1u << p.n) - 1, L2::drop);
  }
  mbarrier_wait(smem.full, 0);
  for (int w = threadIdx.x; w < p.n * part; w += 32)
    p.out(rank * p.n * part + w) = smem.box(0, w) + rank;
  mbarrier_arrive_at_if(smem.peer, (rank + 1) % p.n, threadIdx.x == 0);
  mbarrier_wait(smem.peer, 0);
  cluster_sync();
}

/// Stores, or adds, the same box at n places of the tensor: in [n][rank], then [box_words].
template <int rank, bool adds>
FLASHBOOK_KERNEL(32)
stores(const FLASHBOOK_GRID_CONSTANT TensorParameters p) {
  auto& box = shared_memory<Tile<float, 1, box_words>>();
  for (int w = threadIdx.x; w < p.box_words; w += 32) box(0, w) = as_float(p.in(p.n * rank + w));
  fence_proxy_async();
  sync_threads();  // the box is complete, also for the copy engine
  if (threadIdx.x != 0) return;
  for (int i = 0; i < p.n; ++i) {
    int at[rank];
    for (int d = 0; d < rank; ++d) at[d] = static_cast<int>(p.in(i * rank + d));
    if constexpr (adds)
      tma_add(p.map, at, box.at(0, 0));
    else
      tma_store(p.map, at, box.at(0, 0));
    bulk_commit();
    bulk_wait<1>();
  }
  bulk_wait<0>();
}

/// Rows of bytes, stored and added: in [256] numbers, out [256].
FLASHBOOK_KERNEL(32) rows(const Parameters p, const gmem<float> out) {
  auto& row = shared_memory<Tile<float, 1, 256>>();
  for (int i = threadIdx.x; i < 256; i += 32) row(0, i) = as_float(p.in(i));
  fence_proxy_async();
  sync_threads();  // the row is complete, also for the copy engine
  if (threadIdx.x != 0) return;
  bulk_store(out, row.at(0, 4), 96 * 4);
  bulk_commit();
  bulk_wait<0>();
  bulk_add(out + 8, row.at(0, 128), 64 * 4);
  bulk_add(out + 16, row.at(0, 100), 28 * 4);
  bulk_commit();
  bulk_wait_read<0>();
}

template <class T, int n>
struct WgmmaSmem {
  static constexpr int padded = (n + 63) / 64 * 64;
  Tile<T, 64, 64, Swizzle128> A;
  Tile<T, n, 64, Swizzle128> B;  // stored by its transposed
  Tile<T, 64, padded, Swizzle128> B_rows;
};

/// A tile from pairs of elements, row by row. Returns the words behind.
template <class T, int rows, int columns>
FLASHBOOK_DEVICE gmem<const uint32_t> fill(Tile<T, rows, columns, Swizzle128>& tile,
                                           gmem<const uint32_t> in) {
  for (int i = threadIdx.x; i < rows * columns / 2; i += 128) {
    const uint32_t word = in(i);
    store_vector(tile.at(2 * i / columns, 2 * i % columns), word);
  }
  return in + rows * columns / 2;
}

/// D = C + A B over `steps` instructions. form: 0 A and B in shared memory; 1 A in registers; 2 and
/// 3 the same with B in rows.
template <class T, int n, int form, int steps>
FLASHBOOK_DEVICE void multiply(float (&d)[n / 2], WgmmaSmem<T, n>& smem) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
  uint32_t a[steps][4];
  for (int k = 0; k < steps; ++k)
    ldmatrix_x4(a[k], smem.A.at(row + lane % 16, k * 16 + lane / 16 * 8));
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < steps; ++k) {
    const auto A = wgmma_operand(smem.A, 0, k * 16);
    if constexpr (form == 0)
      wgmma<T>(d, A, wgmma_operand(smem.B, 0, k * 16), true);
    else if constexpr (form == 1)
      wgmma<T>(d, a[k], wgmma_operand(smem.B, 0, k * 16), true);
    else if constexpr (form == 2)
      wgmma_trans<T>(d, A, wgmma_operand(smem.B_rows, k * 16, 0), true);
    else
      wgmma_trans<T>(d, a[k], wgmma_operand(smem.B_rows, k * 16, 0), true);
  }
  wgmma_commit();
  wgmma_wait<0>(d);
}

/// In as words_of says. Out of `hashed`, a word a thread that every bit of its accumulators
/// changes, [128]; else the accumulators, [128][n / 2].
template <class T, int n, int form, int steps, bool hashed>
FLASHBOOK_KERNEL(128)
wgmmas(const Parameters p) {
  auto& smem = shared_memory<WgmmaSmem<T, n>>();
  const gmem<const uint32_t> C = fill(smem.B_rows, fill(smem.B, fill(smem.A, p.in)));
  fence_proxy_async();
  sync_threads();  // the operands are everybody's, and wgmma's
  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) d[i] = as_float(C(threadIdx.x * (n / 2) + i));
  multiply<T, n, form, steps>(d, smem);
  uint32_t hash = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) {
    if constexpr (hashed)
      hash = hash * 0x01000193u + as_bits(d[i]);
    else
      p.out(threadIdx.x * (n / 2) + i) = as_bits(d[i]);
  }
  if constexpr (hashed) p.out(threadIdx.x) = hash;
}

}  // namespace flashbook::FLASHBOOK_MACHINE::probes
