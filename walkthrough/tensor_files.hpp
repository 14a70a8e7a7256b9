#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cpu_reference/element_types.hpp"
#include "cpu_reference/npy.hpp"

namespace flashbook {

/// A tensor in a problem's element type, C order, as an implementation reads it.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  const void* data() const { return bytes.data(); }
  void* data() { return bytes.data(); }
};

/// "[2, 5, 8]".
std::string shape_text(const std::vector<std::int64_t>& shape);

/// A zero-filled tensor of `shape`, elements of `element_bytes`.
Tensor make_tensor(std::vector<std::int64_t> shape, std::int64_t element_bytes);

/// The element type of a float tensor's file (fp32 for integers, which read_tensor refuses).
DType float_type(const std::string& argument, const std::filesystem::path& file);

/// Reads a float tensor and rounds it to `dtype`. `argument` names it in errors. Finite elements
/// that become infinite are said on stderr. Throws InputError for integers.
Tensor read_tensor(const std::string& argument, const std::filesystem::path& file, DType dtype);

/// Reads token offsets: int32 or int64, one dimension.
std::vector<std::int64_t> read_offsets(const std::string& argument,
                                       const std::filesystem::path& file);

/// As a .npy array; bf16 travels as fp32, which .npy can hold.
NpyArray to_npy(const Tensor& tensor, DType dtype);

}  // namespace flashbook
