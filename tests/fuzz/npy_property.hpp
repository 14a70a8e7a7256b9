#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>

#include "cpu_reference/error.hpp"
#include "cpu_reference/npy.hpp"

namespace flashbook::test {

/// True if the file was read. Whatever its bytes are, parse_npy gives an array that is what its
/// shape says and that survives being written and read, or an InputError whose sentence names the
/// file and that a terminal can print; anything else aborts.
inline bool check_npy(std::span<const std::byte> file) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  try {
    const NpyArray array = parse_npy(file, "k.npy");
    require(array.bytes.size() ==
            static_cast<std::size_t>(array.size()) * npy_item_size(array.type));
    const NpyArray again = parse_npy(format_npy(array, "k.npy"), "k.npy");
    require(again.type == array.type && again.shape == array.shape && again.bytes == array.bytes);
    return true;
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    require(message.starts_with("k.npy: ") && message.size() < 1000);
    for (const char c : message) require(c >= ' ' && c <= '~');
    return false;
  }
}

}  // namespace flashbook::test
