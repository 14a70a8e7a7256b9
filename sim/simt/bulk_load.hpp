#pragma once

#include <cstdint>
#include <vector>

#include "sim/simt/site.hpp"
#include "sim/simt/tensor_map.hpp"

namespace flashbook::simt {

class Cluster;

/// A box of a tensor on its way into the shared memory of one block.
struct BulkLoad {
  TensorMap map;
  int at[TensorMap::most_dimensions];
  std::uint32_t target, mbarrier;  ///< offsets in the receiver's shared memory
  unsigned receiver;               ///< rank in the cluster
  unsigned issuer_rank, issuer;    ///< the thread
  SiteId site;
};

/// The tensor loads of a cluster that have not landed. They land as late as is legal: when no
/// thread can run. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".
class BulkLoads {
 public:
  void clear() { under_way_.clear(); }
  bool empty() const { return under_way_.empty(); }
  std::size_t size() const { return under_way_.size(); }
  void add(const BulkLoad& load) { under_way_.push_back(load); }
  /// Writes the i-th, zeros where it is outside its tensor, and tells its mbarrier.
  void land(std::size_t i, Cluster& cluster);

 private:
  std::vector<BulkLoad> under_way_;  // oldest first
};

/// The running thread starts to copy the box at `at` to `target`, and to the same place in the
/// other blocks of `receivers`, one bit a rank; in each, the bytes are told to the mbarrier at
/// `mbarrier`. No receivers: this block alone.
void load_tensor(const Pointer<std::byte>& target, const TensorMap& map, const int* at,
                 unsigned coordinates, std::uint32_t mbarrier, std::uint32_t receivers, Site site);

/// Reports a copy that no GPU makes: of another number of coordinates than the tensor has, or of a
/// box that lies wrongly in shared memory. Whether it can be made.
bool admits_box(const Pointer<const std::byte>& box, const TensorMap& map, unsigned coordinates,
                Site site);
/// Reports a place where no GPU lets a box begin, and rows that the map places outside the memory
/// that it was made for. Counts the bytes in the tensor, and, of blocks' races, marks them.
enum class Direction : std::uint8_t { load, store, add };
bool observe_tensor(const TensorMap& map, const int* at, Direction direction, unsigned& bytes,
                    Site site);

}  // namespace flashbook::simt
