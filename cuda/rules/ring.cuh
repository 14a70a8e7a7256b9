// A ring of tiles in shared memory between one producer, which fills them by TMA, and warpgroups
// that read them. The t-th tile lies in stage t % stages, and both sides count t for themselves:
// neither waits for the other, but for full or empty stages.
//
// The blocks of a cluster may fill their rings together: each loads a part of every tile and sends
// it to all of them. A stage is then empty when the consumers of all blocks have given it back.
#pragma once

#include <bit>

#include "cuda/rules/wgmma.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

template <class Tile, int stages, int cluster = 1>
struct Ring {
  Tile tile[stages];
  Mbarrier full[stages];   ///< complete when the stage's tile is there
  Mbarrier empty[stages];  ///< complete when each consumer has given the stage back

  /// By one thread. `consumers` warpgroups of each block read each tile.
  FLASHBOOK_DEVICE void initialise(int consumers) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(full[s], 1);
      mbarrier_init(empty[s], cluster * consumers);
    }
  }
  FLASHBOOK_DEVICE Tile& operator[](unsigned t) { return tile[t % stages]; }

  // [use]
  /// The producer: rows from `first` on become tile t, once its stage is empty, as all are at
  /// first. Alone, a block of a cluster loads the whole tile for itself.
  FLASHBOOK_DEVICE void load(unsigned t, const TensorMap& map, int first, int head, int batch,
                             bool alone = false) {
    wait_empty(t);
    if constexpr (cluster == 1)
      load_rows(tile[t % stages], map, first, head, batch, full[t % stages]);
    else if (alone)
      load_rows_in_parts<cluster>(tile[t % stages], map, first, head, batch, full[t % stages]);
    else
      load_rows_for_cluster<cluster>(tile[t % stages], map, first, head, batch, full[t % stages]);
  }
  /// A consumer: until tile t is there.
  FLASHBOOK_DEVICE void wait(unsigned t) const { mbarrier_wait(full[t % stages], t / stages % 2); }
  /// A warpgroup whose products of tile t are done. One thread arrives for it at each block that
  /// fills the ring: four warps read what one wgmma reads. Alone, as often at its own.
  FLASHBOOK_DEVICE void release(unsigned t, bool alone = false) { release_if(true, t, alone); }
  // [/use]
  /// The same, but not before x is computed: the condition, which holds for whatever arithmetic
  /// gives, is there to keep ptxas from moving the next wait for products above that.
  FLASHBOOK_DEVICE void release_after(float x, unsigned t, bool alone = false) {
    release_if(std::bit_cast<uint32_t>(x) != 0xffffffffu, t, alone);
  }
  /// The producer's warp: as load, but the first `hidden` rows become zeros. `landed` is complete,
  /// in a phase of parity `phase`, when the copy is.
  FLASHBOOK_DEVICE void load_cleared(unsigned t, const TensorMap& map, int first, int head,
                                     int batch, int hidden, Mbarrier& landed, unsigned phase) {
    static_assert(cluster == 1);
    const bool loads = threadIdx.x % 32 == 0;
    wait_empty(t);
    if (loads) load_rows(tile[t % stages], map, first, head, batch, landed);
    mbarrier_wait(landed, phase);
    clear_rows(tile[t % stages], hidden);
    mbarrier_arrive_if(full[t % stages], loads);
  }

 private:
  // [empty]
  FLASHBOOK_DEVICE void wait_empty(unsigned t) const {
    mbarrier_wait(empty[t % stages], t / stages % 2 ^ 1);
  }
  FLASHBOOK_DEVICE void release_if(bool condition, unsigned t, bool alone) {
    if constexpr (cluster == 1) {
      mbarrier_arrive_if(empty[t % stages], condition && is_elected());
    } else {
      const unsigned thread = threadIdx.x % 128;
      mbarrier_arrive_at_if(empty[t % stages], alone ? cluster_rank() : thread,
                            condition && thread < cluster);
    }
  }
  // [/empty]
};

}  // namespace flashbook::FLASHBOOK_MACHINE
