// Which places in shared memory copies fill, found from the events of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "walkthrough/ring/timeline.hpp"

namespace flashbook::ring {

/// A stage with its mbarriers, by their bytes in shared memory.
struct Place {
  std::string name;
  const void* tensor;
  std::uint32_t at;                    ///< its first byte
  std::uint32_t full;                  ///< told by its copies
  std::optional<std::uint32_t> empty;  ///< waited for by who fills it, if anybody does
  bool is_filled_again = false;

  bool is_stage() const { return empty || is_filled_again; }
};

class Places {
 public:
  Places(const std::vector<simt::Event>& events, const TensorNames& tensors);

  const std::vector<Place>& all() const { return all_; }
  /// The number of the place that this mbarrier says is full, or empty; -1 if there is none.
  int filled(std::uint32_t mbarrier) const;
  int emptied(std::uint32_t mbarrier) const;
  /// The place that begins at this byte.
  int at(std::uint32_t byte) const;

 private:
  void add(const simt::Event& load);
  void name(const TensorNames& tensors);

  std::vector<Place> all_;
};

}  // namespace flashbook::ring
