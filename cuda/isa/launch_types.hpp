// What launching has to say to both machines and to their callers. No macro, no CUDA header: a
// launcher's declaration needs this and nothing else.
#pragma once

#include <cstddef>
#include <string>

namespace flashbook {

/// CUDA's dim3.
struct GridShape {
  unsigned x = 1, y = 1, z = 1;
};

/// How a kernel is launched, and its name for messages.
struct LaunchShape {
  const char* kernel;
  GridShape grid, block;  ///< blocks in the grid, threads in a block
  std::size_t shared_bytes = 0;
  /// The kernel calls atomic_add. The emulator then runs its blocks one after another, so that a
  /// seed repeats every bit; a GPU does not care.
  bool float_atomics = false;
  /// Neighbouring blocks in x that run together and reach each other's shared memory: 1 to 8. It
  /// divides the grid's x. More than 1 needs sm_90.
  unsigned cluster = 1;
};

/// How it went. An error is one sentence that names the kernel.
struct LaunchStatus {
  std::string error;
  bool ok() const { return error.empty(); }
};

}  // namespace flashbook
