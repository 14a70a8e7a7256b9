// What the consumers of a block did and when, written down by the kernels of chapter 12, and kept
// in a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cuda/api/machine.hpp"
#include "walkthrough/chapters/12_overlap/orders.hpp"

namespace flashbook::orders {

/// The stamps of one consumer, cycles counted from the block's first one; the last is `done`.
using Stamps = std::vector<Stamp>;

struct OrderRecording {
  std::string name, what;
  /// From the first stamp of the block to the last, in a launch that wrote no others.
  std::uint32_t timed_cycles = 0;
  std::vector<Stamps> consumers = {};
};

struct Recording {
  Machine machine = Machine::gpu;
  std::string gpu, driver;  ///< "NVIDIA H200", "580.159.04"; empty on the emulator
  std::int64_t tokens = 0, heads = 0;
  std::vector<OrderRecording> orders = {};

  std::int64_t tiles() const { return tokens / tile_keys; }
  /// Throws InputError that lists the orders there are.
  const OrderRecording& order(const std::string& name) const;
};

/// Runs all orders on N(0,1), in bf16, d = 128. On a GPU an order is launched several times with
/// all stamps and with two; of each the launch of median length counts, with its stamps or its
/// length. Throws InputError without a GPU, and std::runtime_error that says which order gave wrong
/// results, or failed.
Recording record(Machine machine, std::int64_t tokens, std::int64_t heads);

/// A recording as JSON, and from a file. `read` throws InputError that says what is wrong with it.
std::string text_of_file(const Recording& recording);
Recording read_recording(const std::filesystem::path& file);

}  // namespace flashbook::orders
