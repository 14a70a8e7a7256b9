#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/simt/report.hpp"

namespace flashbook::simt {

/// A multiprocessor of an H100 or H200: CUDA C++ Programming Guide, "Compute Capabilities".
inline constexpr unsigned max_block_threads = 1024;
inline constexpr unsigned max_cluster_blocks = 8;
inline constexpr unsigned max_registers = 65536;  ///< of all threads together
inline constexpr std::size_t max_shared_bytes = 227 * std::size_t{1024};

inline constexpr std::uint64_t no_block = ~std::uint64_t{0};

/// How kernels are run. None of it changes what a correct kernel computes.
struct Options {
  bool count = true;  ///< count memory traffic and instructions, line by line
  bool check = true;  ///< look for races, uninitialised reads and unfinished copies
  unsigned seed = 0;  ///< 0: warps in order, round robin; else the order that this seed draws
  std::uint64_t watched = no_block;  ///< number of the block whose events are recorded
  unsigned os_threads = 0;           ///< on which blocks run; 0: one a processor
  /// That a block may have: 99 KiB, say, to be a device of sm_86 or sm_89.
  std::size_t shared_bytes = max_shared_bytes;
  /// Called after each block with the number of those done and of all; by one OS thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t blocks)> progress = {};
};

/// A kernel's launch. Everything that a GPU's launch has, and a name for messages.
struct LaunchShape {
  const char* kernel = "kernel";
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  /// The kernel adds to floats atomically. Its blocks then run one after another, in order, on one
  /// OS thread, so that a seed repeats every bit.
  bool float_atomics = false;
  /// Neighbouring blocks in x that run together and reach each other's shared memory. It divides
  /// the grid's x.
  unsigned cluster = 1;
};

}  // namespace flashbook::simt
