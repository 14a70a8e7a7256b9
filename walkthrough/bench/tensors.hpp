#pragma once

#include <cstdint>
#include <vector>

#include "cpu_reference/implementation.hpp"

namespace flashbook::bench {

/// Q, K, V and dO of N(0,1) that serve every shape: a smaller tensor takes the first elements.
class Tensors {
 public:
  /// Room for tensors of `elements`.
  Tensors(DType dtype, std::int64_t elements);

  Inputs inputs() const;
  Cotangents cotangents() const { return {grad_o_.data(), nullptr}; }

  static constexpr std::uint64_t seed = 1;

 private:
  std::vector<std::byte> q_, k_, v_, grad_o_;
};

}  // namespace flashbook::bench
