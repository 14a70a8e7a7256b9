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
/// The fewest sectors that hold as many bytes as the lanes access, each byte once.
unsigned ideal_sectors(const WarpAddresses& access);

/// Passes that shared memory makes: 32 banks of 4 bytes, each of which gives one word a pass, to
/// all lanes that ask for it. Lanes go together in groups that ask for at most 128 bytes: all 32,
/// 16 for 8-byte accesses, 8 for 16-byte accesses. Of loads of 8 and 16 bytes two neighbouring
/// groups (the halves of the warp; the quarters of a half) make one pass if
///   - they have no bank conflict, and
///   - lanes load in pairs: each the same as lane ^ 1, or each the same as lane ^ 2, inactive lanes
///     aside; of 16 bytes this is asked after the active lanes of every four have closed up.
/// A load of 16 bytes by at most 16 lanes from one place is one pass. Found from what an H200
/// counted (tests/gpu/wavefronts), and all that is known of it.
unsigned wavefronts(const WarpAddresses& access);
/// Passes without any bank conflict: a pass for each group that has a lane, and for two in pairs.
unsigned ideal_wavefronts(const WarpAddresses& access);

}  // namespace flashbook::simt
