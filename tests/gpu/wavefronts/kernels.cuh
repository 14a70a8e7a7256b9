// One access of a warp to shared memory, at addresses that are data.
// tests/gpu/compare_wavefronts.py.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::wavefronts {

struct Smem {
  Tile<uint32_t, 1, 8192> words;
};

FLASHBOOK_DEVICE uint32_t folded(uint32_t x) {
  return x;
}
FLASHBOOK_DEVICE uint32_t folded(uint2 x) {
  return x.x ^ x.y;
}
FLASHBOOK_DEVICE uint32_t folded(uint4 x) {
  return x.x ^ x.y ^ x.z ^ x.w;
}

/// Lane l reads a V at word at[l], or nothing where that is negative.
template <class V>
FLASHBOOK_KERNEL(32)
read(gmem<const int> at, gmem<uint32_t> out) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x, word = at(lane);
  V value = {};
  if (word >= 0) value = load_vector<V>(smem.words.at(0, word));
  out(lane) = folded(value);
}

/// Lane l writes zeros there.
template <class V>
FLASHBOOK_KERNEL(32)
write(gmem<const int> at, gmem<uint32_t> out) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x, word = at(lane);
  if (word >= 0) store_vector(smem.words.at(0, word), V{});
  sync_warp();
  out(lane) = smem.words(0, lane);
}

/// One warp's access of a pattern.
template <class V>
LaunchStatus launch_access(bool is_write, void* stream, gmem<const int> at, gmem<uint32_t> out) {
  return launch({is_write ? "write" : "read", {1}, {32}, sizeof(Smem)}, stream,
                is_write ? write<V> : read<V>, at, out);
}

inline LaunchStatus launch_access(int bytes, bool is_write, void* stream, gmem<const int> at,
                                  gmem<uint32_t> out) {
  if (bytes == 4) return launch_access<uint32_t>(is_write, stream, at, out);
  if (bytes == 8) return launch_access<uint2>(is_write, stream, at, out);
  return launch_access<uint4>(is_write, stream, at, out);
}

}  // namespace flashbook::FLASHBOOK_MACHINE::wavefronts
