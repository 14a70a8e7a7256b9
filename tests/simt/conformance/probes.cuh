// Kernels that execute every instruction of cuda/isa and write down what it gave, as 32-bit words.
// Compiled for both machines; dump.hpp says what happens to the words.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::probes {

/// Words in and out. What they mean is each kernel's own.
struct Parameters {
  gmem<const uint32_t> in;
  gmem<uint32_t> out;
  int n;  // threads, or units of work, that have something to do
};

FLASHBOOK_DEVICE float as_float(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } u = {bits};
  return u.value;
}
FLASHBOOK_DEVICE uint32_t as_bits(float value) {
  union {
    float value;
    uint32_t bits;
  } u = {value};
  return u.bits;
}

/// threadIdx, blockIdx, blockDim and gridDim of a launch in three dimensions: 12 words a thread.
FLASHBOOK_KERNEL(32) ids(const Parameters p) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint32_t words[12] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
                              blockIdx.y,  blockIdx.z,  blockDim.x,  blockDim.y,
                              blockDim.z,  gridDim.x,   gridDim.y,   gridDim.z};
  for (int i = 0; i < 12; ++i) p.out((block * p.n + thread) * 12 + i) = words[i];
}

/// All shuffles by n operands: in [n], out [n][4][32].
FLASHBOOK_KERNEL(32) shuffles(const Parameters p) {
  const int lane = threadIdx.x;
  for (int i = 0; i < p.n; ++i) {
    const uint32_t operand = p.in(i), value = 1000 * i + lane;
    p.out((i * 4 + 0) * 32 + lane) = shuffle(value, static_cast<int>(operand));
    p.out((i * 4 + 1) * 32 + lane) = shuffle_xor(value, static_cast<int>(operand));
    p.out((i * 4 + 2) * 32 + lane) = shuffle_up(value, operand);
    p.out((i * 4 + 3) * 32 + lane) = shuffle_down(value, operand);
  }
}

/// All votes on n masks of predicates: in [n], out [n][3][32].
FLASHBOOK_KERNEL(32) votes(const Parameters p) {
  const int lane = threadIdx.x;
  for (int i = 0; i < p.n; ++i) {
    const uint32_t mask = p.in(i);
    const bool predicate = mask >> lane & 1;
    p.out((i * 3 + 0) * 32 + lane) = ballot(predicate);
    p.out((i * 3 + 1) * 32 + lane) = any(predicate);
    p.out((i * 3 + 2) * 32 + lane) = all(predicate);
  }
}

struct MatrixSmem {
  Tile<half, 32, 64, XorSwizzle> swizzled;
  Tile<half, 32, 8> plain;
};

template <int count>
FLASHBOOK_DEVICE void write_registers(const Parameters& p, int& next, const uint32_t (&r)[count]) {
  for (int i = 0; i < count; ++i) p.out(next++ * 32 + threadIdx.x) = r[i];
}

/// All forms of ldmatrix, from rows of a tile that is 16 bytes wide and from a column of chunks of
/// a swizzled one: in [32 * 64 / 2], out [registers][32].
FLASHBOOK_KERNEL(32) ldmatrix(const Parameters p) {
  MatrixSmem& smem = shared_memory<MatrixSmem>();
  const int lane = threadIdx.x;
  for (int i = lane; i < 32 * 32; i += 32)
    store_vector(smem.swizzled.at(i / 32, i % 32 * 2), static_cast<uint32_t>(p.in(i)));
  for (int i = 0; i < 4; ++i)
    store_vector(smem.plain.at(lane, 2 * i), static_cast<uint32_t>(p.in(lane * 4 + i)));
  sync_warp();  // both tiles are complete

  int next = 0;
  for (int which = 0; which < 2; ++which) {
    const smem_ptr<half> row = which ? smem.swizzled.at(lane, 24) : smem.plain.at(lane, 0);
    uint32_t x1[1], x2[2], x4[4];
    ldmatrix_x1(x1, row);
    write_registers(p, next, x1);
    ldmatrix_x2(x2, row);
    write_registers(p, next, x2);
    ldmatrix_x4(x4, row);
    write_registers(p, next, x4);
    ldmatrix_x1_trans(x1, row);
    write_registers(p, next, x1);
    ldmatrix_x2_trans(x2, row);
    write_registers(p, next, x2);
    ldmatrix_x4_trans(x4, row);
    write_registers(p, next, x4);
  }
}

/// n products by mma: in [n][32][4 + 2 + 4] (A, B, C as the lanes hold them), out [n][32][4].
template <class T>
FLASHBOOK_KERNEL(32)
mma(const Parameters p) {
  const int lane = threadIdx.x;
  for (int i = 0; i < p.n; ++i) {
    const gmem<const uint32_t> in = p.in + (i * 32 + lane) * 10;
    const uint32_t a[4] = {in(0), in(1), in(2), in(3)}, b0 = in(4), b1 = in(5);
    float d[4] = {as_float(in(6)), as_float(in(7)), as_float(in(8)), as_float(in(9))};
    mma_m16n8k16<T>(d, a, b0, b1);
    for (int e = 0; e < 4; ++e) p.out((i * 32 + lane) * 4 + e) = as_bits(d[e]);
  }
}

/// exp2 of n numbers.
FLASHBOOK_KERNEL(32) exp2(const Parameters p) {
  for (int i = threadIdx.x; i < p.n; i += 32) p.out(i) = as_bits(exp2_approx(as_float(p.in(i))));
}

/// n numbers rounded to T and back: in [n], out [n][2]: packed with its negative, and the number.
template <class T>
FLASHBOOK_KERNEL(32)
convert(const Parameters p) {
  for (int i = threadIdx.x; i < p.n; i += 32) {
    const float x = as_float(p.in(i));
    const uint32_t packed = pack<T>(x, -x);
    p.out(2 * i) = packed;
    p.out(2 * i + 1) = as_bits(unpack_low<T>(packed) - 2 * unpack_high<T>(packed));
  }
}

struct CopySmem {
  Tile<uint32_t, 4, 32> stages;
};

/// Groups of copies, of which every third row of 16 bytes is not valid, waited for one by one, and
/// loads and stores of 4, 8 and 16 bytes: in [4][32][4], out [4][32][4].
FLASHBOOK_KERNEL(32) copies(const Parameters p) {
  CopySmem& smem = shared_memory<CopySmem>();
  const int lane = threadIdx.x;
  for (int s = 0; s < 4; ++s) {
    if (lane < 8)
      cp_async_16(smem.stages.at(s, lane * 4), p.in + (s * 32 + lane * 4), (lane + s) % 3 != 0);
    cp_async_commit();
  }
  cp_async_wait<2>();
  sync_threads();  // the first two groups are everybody's
  const uint32_t early = smem.stages(0, lane) + 3 * smem.stages(1, 31 - lane);
  cp_async_wait<0>();
  sync_threads();  // and the others
  store_vector(p.out + lane * 4, uint4{early, smem.stages(2, lane), smem.stages(3, lane), 7});
  const uint2 two = load_vector<uint2>(p.in + lane * 2);
  store_vector(p.out + 128 + lane * 2, uint2{two.y, two.x});
  const uint4 four = load_vector<uint4>(smem.stages.at(lane % 4, lane / 4 * 4));
  store_vector(p.out + 192 + lane, four.x + 2 * four.y + 3 * four.z + 4 * four.w);
}

/// Every thread of every block adds its integer to one of n sums.
FLASHBOOK_KERNEL(128) atomics(const Parameters p, const gmem<float> sums) {
  const int thread = blockIdx.x * 128 + threadIdx.x;
  atomic_add(sums + thread % p.n, static_cast<float>(static_cast<int>(p.in(thread % 64))));
}

struct BarrierSmem {
  Tile<uint32_t, 4, 32> words;
};

/// Four warps pass words round with numbered barriers, of which warp 0 only arrives at one, and
/// with sync_threads: out [4][32].
FLASHBOOK_KERNEL(128) barriers(const Parameters p) {
  BarrierSmem& smem = shared_memory<BarrierSmem>();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  smem.words(warp, lane) = p.in(threadIdx.x);
  if (warp == 0)
    barrier_arrive(1, 128);
  else
    barrier_sync(1, 128);  // warps 1 to 3 may read what all have written
  uint32_t word = warp == 0 ? 0u : static_cast<uint32_t>(smem.words(warp - 1, 31 - lane));
  sync_threads();  // nobody reads what is now overwritten
  smem.words(warp, lane) = word;
  sync_threads();  // the second words are complete
  p.out(threadIdx.x) = smem.words(3 - warp, lane) + 5 * smem.words(warp, lane ^ 1);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::probes
