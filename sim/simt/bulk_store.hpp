#pragma once

#include <cstdint>
#include <vector>

#include "sim/simt/bulk_load.hpp"

namespace flashbook::simt {

/// The bulk copies from shared to global memory of one thread that have not been waited for. They
/// take effect as late as is legal: in the wait for what they read.
/// PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.commit_group" and
/// "cp.async.bulk.wait_group".
class BulkStores {
 public:
  struct Store {
    TensorMap map;
    int at[TensorMap::most_dimensions];
    std::uint32_t source;  // offset in shared memory
    bool adds;
    SiteId site;
  };

  /// The running thread's.
  void add(const Store& store);
  void commit();
  /// Completes all groups but the `newest` last ones.
  void wait_group(std::size_t newest);
  void report_unfinished() const;
  void clear();

 private:
  struct Group {
    std::size_t end;  // in stores_
    std::uint32_t clock;
  };
  std::vector<Store> stores_;  // oldest first
  std::vector<Group> groups_;
  unsigned engine_ = 0;
  std::uint32_t clock_ = 0;  // of the group that is not committed
};

/// The running thread starts to copy a box from `source` to the place `at` of its tensor, or to add
/// it, if the elements are fp32. What lies outside the tensor is left out.
void store_tensor(const TensorMap& map, const int* at, unsigned coordinates,
                  const Pointer<const std::byte>& source, bool adds, Site site);

/// The same for `bytes` bytes in a row, a multiple of 16, to an address that is one, too.
void store_bulk(const Pointer<std::byte>& target, const Pointer<const std::byte>& source,
                std::uint32_t bytes, bool adds, Site site);

}  // namespace flashbook::simt
