#pragma once

#include <cstdint>

/// What one memory instruction of a warp costs, from its lanes' addresses alone.
namespace flashbook::simt {

/// Addresses, one a lane, multiples of `bytes`; only those of the lanes in `mask` are looked at.
struct WarpAddresses {
  const std::uint64_t* address;
  std::uint32_t mask;
  unsigned bytes;  ///< that each lane accesses: 1, 2, 4, 8 or 16
  bool is_store = false;
};

inline constexpr unsigned sector_bytes = 32;

/// Distinct 32-byte sectors of global memory that the lanes touch.
unsigned sectors(const WarpAddresses& access);
/// The fewest sectors that hold as many bytes as the lanes access.
unsigned ideal_sectors(const WarpAddresses& access);

/// Passes that shared memory makes: 32 banks of 4 bytes, each of which gives one word a pass, to
/// all lanes that ask for it. Lanes go together in groups that ask for at most 128 bytes: all 32,
/// 16 for 8-byte accesses, 8 for 16-byte accesses. Of the latter two, neighbouring groups (the two
/// halves of the warp; the two quarters of a half) go together where lanes load in pairs: each the
/// same as lane ^ 1, or each the same as lane ^ 2, inactive lanes aside. Stores never do.
unsigned wavefronts(const WarpAddresses& access);
/// Passes without any bank conflict: the groups that have a lane.
unsigned ideal_wavefronts(const WarpAddresses& access);

}  // namespace flashbook::simt
