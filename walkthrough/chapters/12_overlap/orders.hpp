// The kernels of orders.cuh as the host has them, on both machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cuda/rules/kernel.hpp"

namespace flashbook::orders {

/// What a consumer does from a stamp on, until its next.
enum class Phase : std::uint32_t {
  waits_for_K,
  waits_for_V,
  waits_for_turn,
  starts_S,     ///< gives the tensor cores S = Q K^T
  starts_O,     ///< O += P V
  waits_for_S,  ///< until that product is done
  waits_for_O,
  softmax,
  done
};

/// As a kernel writes it; the cycles are modulo 2^32.
struct Stamp {
  Phase phase;
  std::uint32_t cycles;
};

inline constexpr int consumers = 2;

/// At most so many stamps of a consumer, for so many tiles of keys.
constexpr std::size_t most_stamps(std::int64_t tiles) {
  return static_cast<std::size_t>(10 * tiles + 10);
}
inline constexpr std::int64_t tile_rows = 128, tile_keys = 128, width = 128;

/// An order of the steps. Both kernels write stamps of one block, the one in the middle of the
/// grid, to their workspace, [consumers][most_stamps]: `stamped` each step, `timed` the first and
/// the last alone.
struct Order {
  const char* name;
  const char* what;
  ForwardKernel stamped, timed;
};

}  // namespace flashbook::orders

namespace flashbook::emulated::orders {
std::span<const flashbook::orders::Order> all();
}
namespace flashbook::gpu::orders {
std::span<const flashbook::orders::Order> all();  ///< in builds for sm_90a
}
