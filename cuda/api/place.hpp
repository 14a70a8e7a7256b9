#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace flashbook {

/// Where a tensor lies, for whoever meets an address in it or beside it. Plain data, so that two
/// processes may share it; the name is one of ours.
struct Place {
  char name[16];
  std::uintptr_t zero;       ///< address of its element 0, which its user is given
  std::int64_t first, size;  ///< its elements are first … first + size - 1
  std::int64_t element_bytes;

  /// Bytes from the tensor to the address; 0 inside.
  std::uintptr_t distance(std::uintptr_t address) const;
  /// "behind O, at element 256 (it has 0 to 255)"
  std::string text(std::uintptr_t address) const;

 private:
  std::uintptr_t begin() const { return zero + offset(first); }
  std::uintptr_t end() const { return zero + offset(first + size); }
  std::uintptr_t offset(std::int64_t element) const {
    return static_cast<std::uintptr_t>(element * element_bytes);
  }
};

}  // namespace flashbook
