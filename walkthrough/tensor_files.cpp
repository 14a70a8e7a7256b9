#include "walkthrough/tensor_files.hpp"

#include <cmath>
#include <cstring>
#include <iostream>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook {
namespace {

/// Calls f(i, element i) for every element of a .npy array, in its own type.
template <class T, class F>
void for_each_element(const NpyArray& array, F&& f) {
  for (std::int64_t i = 0; i < array.size(); ++i) {
    T element;
    std::memcpy(&element, array.bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    f(i, element);
  }
}

template <class T, class From>
std::int64_t round_all(const NpyArray& array, std::vector<std::byte>& bytes) {
  std::int64_t overflows = 0;
  for_each_element<From>(array, [&](std::int64_t i, From x) {
    const double wide = static_cast<double>(x);
    const T rounded = round_to<T>(wide);
    overflows += std::isfinite(wide) && !std::isfinite(static_cast<double>(rounded));
    std::memcpy(bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), &rounded, sizeof(T));
  });
  return overflows;
}

/// Returns how many finite elements became infinite.
template <class T>
std::int64_t round_all(const NpyArray& array, std::vector<std::byte>& bytes) {
  switch (array.type) {
    case NpyType::fp16:
      return round_all<T, half>(array, bytes);
    case NpyType::fp32:
      return round_all<T, float>(array, bytes);
    default:
      return round_all<T, double>(array, bytes);
  }
}

NpyArray read(const std::string& argument, const std::filesystem::path& file) {
  try {
    return read_npy(file);
  } catch (const InputError& error) {
    throw InputError(argument + ": " + error.what());
  }
}

bool is_float(NpyType type) {
  return type == NpyType::fp16 || type == NpyType::fp32 || type == NpyType::fp64;
}

NpyType npy_type(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return NpyType::fp16;
    case DType::fp64:
      return NpyType::fp64;
    default:
      return NpyType::fp32;
  }
}

std::int64_t count(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::ostringstream text;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    text << (axis == 0 ? "" : ", ") << shape[axis];
  return "[" + text.str() + "]";
}

Tensor make_tensor(std::vector<std::int64_t> shape, std::int64_t element_bytes) {
  const std::int64_t size = count(shape) * element_bytes;
  return {std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(size))};
}

DType float_type(const std::string& argument, const std::filesystem::path& file) {
  switch (read(argument, file).type) {
    case NpyType::fp16:
      return DType::fp16;
    case NpyType::fp64:
      return DType::fp64;
    default:
      return DType::fp32;
  }
}

Tensor read_tensor(const std::string& argument, const std::filesystem::path& file, DType dtype) {
  const NpyArray array = read(argument, file);
  if (!is_float(array.type))
    throw InputError(argument + ": " + file.string() + " holds " +
                     std::string(npy_name(array.type)) +
                     ", but attention takes fp16, fp32 or fp64: convert it with a.astype('f4')");
  Tensor tensor = make_tensor(array.shape, bytes_of(dtype));
  const std::int64_t overflows = with_element_type(
      dtype, [&](auto element) { return round_all<decltype(element)>(array, tensor.bytes); });
  if (overflows > 0)
    std::cerr << "flashbook: note: " << overflows << " elements of " << file.string()
              << " are too large for " << name(dtype) << " and become infinite\n";
  return tensor;
}

std::vector<std::int64_t> read_offsets(const std::string& argument,
                                       const std::filesystem::path& file) {
  const NpyArray array = read(argument, file);
  if (is_float(array.type) || array.shape.size() != 1)
    throw InputError(argument + ": " + file.string() + " holds " +
                     std::string(npy_name(array.type)) + " " + shape_text(array.shape) +
                     ", but token offsets are int32 or int64 in one dimension, [members + 1]");
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(array.size()));
  const auto keep = [&](std::int64_t i, std::int64_t x) {
    offsets[static_cast<std::size_t>(i)] = x;
  };
  if (array.type == NpyType::int32)
    for_each_element<std::int32_t>(array, keep);
  else
    for_each_element<std::int64_t>(array, keep);
  return offsets;
}

NpyArray to_npy(const Tensor& tensor, DType dtype) {
  NpyArray array = {npy_type(dtype), tensor.shape, tensor.bytes};
  if (dtype != DType::bf16) return array;
  array.bytes.resize(tensor.bytes.size() * 2);
  for (std::size_t i = 0; i < tensor.bytes.size() / 2; ++i) {
    bfloat16 x;
    std::memcpy(&x, tensor.bytes.data() + 2 * i, 2);
    const float wide = static_cast<float>(x);
    std::memcpy(array.bytes.data() + 4 * i, &wide, 4);
  }
  return array;
}

}  // namespace flashbook
