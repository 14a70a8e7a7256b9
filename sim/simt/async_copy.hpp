#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/simt/site.hpp"

namespace flashbook::simt {

/// The cp.async copies of one thread that have not been waited for. They take effect as late as is
/// legal: in the wait. So a kernel without the wait computes with what was there before, although a
/// GPU might forgive it.
/// PTX ISA, "Data Movement and Conversion Instructions: cp.async" and its commit and wait groups.
class CopyQueue {
 public:
  struct Copy {
    std::byte* target;        // in shared memory
    const std::byte* source;  // in global memory
    std::uint32_t bytes;      // to write
    std::uint32_t valid;      // to read; the rest is written as zeros
    SiteId site;
  };

  void add(const Copy& copy);
  void commit() { groups_.push_back(static_cast<std::uint32_t>(copies_.size())); }
  /// Completes all groups but the `newest` last ones.
  void wait_group(std::size_t newest);
  void report_unfinished() const;
  void clear();

 private:
  std::vector<Copy> copies_;           // oldest first
  std::vector<std::uint32_t> groups_;  // where each committed group ends in copies_
};

}  // namespace flashbook::simt
