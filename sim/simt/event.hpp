#pragma once

#include <cstdint>

#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// Something that happened between a block's threads, its copies and its products, for timelines.
/// Events come in the order of execution; the emulator has no time.
struct Event {
  enum class Kind : std::uint8_t {
    wait,      ///< a thread comes to a wait at an mbarrier
    pass,      ///< and leaves it
    arrive,    ///< a thread arrives at an mbarrier
    complete,  ///< a phase of an mbarrier is complete
    load,      ///< a thread starts a tensor copy into shared memory
    land,      ///< which is there
    multiply,  ///< a warpgroup starts a wgmma
    product,   ///< which is done
    registers  ///< a warpgroup gives registers back or has got more
  };

  Kind kind;
  unsigned thread = 0;           ///< of the block; of a warpgroup, the first; for complete, land: 0
  SiteId site = 0;               ///< 0 for complete and product
  std::uint32_t mbarrier = 0;    ///< byte of shared memory; of a load and a land, that it tells
  std::uint32_t at = 0;          ///< of a load, a land; of wgmma, where B's tile begins
  std::uint32_t bytes = 0;       ///< of a load, a land
  const void* tensor = nullptr;  ///< of a load, a land: its first element
  unsigned registers = 0;        ///< that a thread has now
};

}  // namespace flashbook::simt
