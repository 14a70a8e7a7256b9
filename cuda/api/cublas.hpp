#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu_reference/element_types.hpp"

namespace flashbook {

/// NVIDIA's matrix product, where its library is found when the program runs: no build needs it.
class Cublas {
 public:
  virtual ~Cublas() = default;
  /// Starts C = A·B of n × n matrices in fp16, bf16 or fp32, summed in fp32, on the device's
  /// stream. A, B and C are in the device's memory. Throws std::runtime_error with cuBLAS's status.
  virtual void multiply(DType dtype, std::int64_t n, const void* A, const void* B, void* C) = 0;
};

/// Null if there is no libcublas. `stream` is the device's; `workspace` its memory, for cuBLAS
/// alone.
std::unique_ptr<Cublas> load_cublas(void* stream, void* workspace, std::size_t workspace_bytes);

}  // namespace flashbook
