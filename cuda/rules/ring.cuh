// A ring of tiles in shared memory between one producer, which fills them by TMA, and warpgroups
// that read them. The t-th tile lies in stage t % stages, and both sides count t for themselves:
// neither waits for the other, but for full or empty stages.
#pragma once

#include "cuda/rules/wgmma.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

template <class Tile, int stages>
struct Ring {
  Tile tile[stages];
  Mbarrier full[stages];   ///< complete when the stage's tile is there
  Mbarrier empty[stages];  ///< complete when each consumer has given the stage back

  /// By one thread. `consumers` warpgroups read each tile.
  FLASHBOOK_DEVICE void initialise(int consumers) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(full[s], 1);
      mbarrier_init(empty[s], consumers);
    }
  }
  FLASHBOOK_DEVICE Tile& operator[](int t) { return tile[t % stages]; }

  // [use]
  /// The producer: rows from `first` on become tile t, once its stage is empty, as all are at
  /// first.
  FLASHBOOK_DEVICE void load(int t, const TensorMap& map, int first, int head, int batch) {
    mbarrier_wait(empty[t % stages], t / stages % 2 ^ 1);
    load_rows(tile[t % stages], map, first, head, batch, full[t % stages]);
  }
  /// A consumer: until tile t is there.
  FLASHBOOK_DEVICE void wait(int t) const { mbarrier_wait(full[t % stages], t / stages % 2); }
  /// A warpgroup whose products of tile t are done. One thread arrives for it: four warps read
  /// what one wgmma reads.
  FLASHBOOK_DEVICE void release(int t) { mbarrier_arrive_if(empty[t % stages], is_elected()); }
  // [/use]
};

}  // namespace flashbook::FLASHBOOK_MACHINE
