// Tensors as NumPy's .npy files.
// Source: NEP 1, "A simple file format for NumPy arrays", and the docstring of numpy.lib.format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace flashbook {

/// The element types a tensor file may have; numpy's '<f2', '<f4', '<f8', '<i4' and '<i8'.
enum class NpyType { fp16, fp32, fp64, int32, int64 };

/// Bytes in one element.
std::size_t npy_item_size(NpyType type);

/// The type's name in messages: "fp16", "fp32", "fp64", "int32", "int64".
std::string_view npy_name(NpyType type);

struct NpyArray {
  NpyType type = NpyType::fp32;
  std::vector<std::int64_t> shape;  // outermost first; empty for a single number (0-d)
  std::vector<std::byte> bytes;     // size() * npy_item_size(type), C order, little-endian

  // Number of elements: the product of shape, 1 for 0-d. Cannot overflow for an array that was
  // read, nor for one that format_npy accepts.
  std::int64_t size() const;
};

/// Reads the contents of a .npy file, format version 1.0, 2.0 or 3.0. `name` stands for the file in
/// messages. The header is one dictionary with exactly the keys descr, fortran_order and shape.
/// fortran_order True is refused for every shape: numpy writes it only where C order differs.
/// Throws InputError for anything else, a byte too few or too many included; `file` may be hostile:
/// nothing is allocated on the word of its header before that is checked against its size.
NpyArray parse_npy(std::span<const std::byte> file, std::string_view name);

/// The contents of a .npy file, format version 1.0, the data aligned to 64 bytes as numpy.save
/// does. Throws InputError unless the dimensions are non-negative, at most 32, and match the bytes.
std::vector<std::byte> format_npy(const NpyArray& array, std::string_view name);

/// parse_npy on a regular file. Throws InputError also if the file is missing, a folder, a pipe or
/// a device, unreadable, or larger than the memory.
NpyArray read_npy(const std::filesystem::path& path);

/// format_npy to a new or replaced regular file, all or nothing: the bytes go to `path`.NUMBER.tmp,
/// which is then renamed, or removed on failure. (Only a killed process can leave it behind; a
/// power cut may still lose the file, since it is not synced to the disk.) Throws InputError if
/// `path` cannot be written, or is a folder, a link or a device.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace flashbook
