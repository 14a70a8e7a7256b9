// The kernels of chapter 7: the sum of each row of x [rows, n], n at most 128, by a block of 4
// warps. One is right. Each of the others has one mistake.
#pragma once

#include "cuda/isa/isa.cuh"
#include "cuda/rules/softmax.cuh"

namespace flashbook::FLASHBOOK_MACHINE::sums {

// [smem]
constexpr int warps = 4, threads = warps * 32;

using Input = gmem<const float>;
using Output = gmem<float>;

struct Smem {
  Tile<float, 1, threads> x;
  Tile<float, 1, warps> of_warps;
};
// [/smem]

FLASHBOOK_DEVICE int lane() {
  return threadIdx.x % 32;
}
FLASHBOOK_DEVICE int warp() {
  return threadIdx.x / 32;
}
FLASHBOOK_DEVICE int thread() {
  return threadIdx.x;
}
/// This thread's number of the block's row, 0 where the row has ended.
FLASHBOOK_DEVICE float number(Input x, int n) {
  return thread() < n ? float(x(blockIdx.x * n + thread())) : 0;
}
// [finish]
/// The first thread of the last warp adds up what the warps have.
FLASHBOOK_DEVICE void finish(Smem& smem, Output y) {
  if (thread() != threads - 32) return;
  float sum = 0;
  for (int w = 0; w < warps; ++w) sum += smem.of_warps(0, w);
  y(blockIdx.x) = sum;
}
// [/finish]

// [sum]
FLASHBOOK_KERNEL(threads) sum(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  const float of_warp = lanes_sum<32>(number(x, n));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  sync_threads();  // the sums of all warps are there
  finish(smem, y);
}
// [/sum]

FLASHBOOK_KERNEL(threads) no_barrier(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  const float of_warp = lanes_sum<32>(number(x, n));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  finish(smem, y);
}

// [part_of_a_warp]
FLASHBOOK_KERNEL(threads) part_of_a_warp(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  float of_warp = 0;
  if (thread() < n)  // the others have nothing to add
    of_warp = lanes_sum<32>(x(blockIdx.x * n + thread()));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  sync_threads();
  finish(smem, y);
}
// [/part_of_a_warp]

// [no_wait]
FLASHBOOK_KERNEL(threads) no_wait(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  const int row = blockIdx.x * n, i = 4 * thread();  // 16 bytes a thread
  if (i < threads) cp_async_16(smem.x.at(0, i), x + (row + i), i < n);
  cp_async_commit();
  sync_threads();
  const float of_warp = lanes_sum<32>(smem.x(0, thread()));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  sync_threads();
  finish(smem, y);
}
// [/no_wait]

// [no_zeros]
FLASHBOOK_KERNEL(threads) no_zeros(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  if (thread() < n) smem.x(0, thread()) = x(blockIdx.x * n + thread());
  sync_threads();
  const float weight = thread() < n ? 1 : 0;  // past the end nothing counts
  const float of_warp = lanes_sum<32>(weight * smem.x(0, thread()));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  sync_threads();
  finish(smem, y);
}
// [/no_zeros]

// [left_early]
FLASHBOOK_KERNEL(threads) left_early(Input x, Output y, int n) {
  Smem& smem = shared_memory<Smem>();
  if (warp() * 32 >= n) return;  // nothing to add
  const float of_warp = lanes_sum<32>(number(x, n));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  barrier_sync(1, threads);
  finish(smem, y);
}
// [/left_early]

// [not_atomic]
FLASHBOOK_KERNEL(threads) not_atomic(Input x, Output total, int n) {
  Smem& smem = shared_memory<Smem>();
  const float of_warp = lanes_sum<32>(number(x, n));
  if (lane() == 0) smem.of_warps(0, warp()) = of_warp;
  sync_threads();
  if (thread() != 0) return;
  for (int w = 0; w < warps; ++w) total(0) += smem.of_warps(0, w);
}
// [/not_atomic]

}  // namespace flashbook::FLASHBOOK_MACHINE::sums
