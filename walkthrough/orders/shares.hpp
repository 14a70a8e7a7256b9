// What stamps say: stretches of time, how they add up, and when products were under way.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "walkthrough/orders/recording.hpp"

namespace flashbook::orders {

/// What a consumer's time goes to.
enum class Activity { copies, turn, products, softmax, starts };
inline constexpr std::size_t activities = 5;
/// 'c', 't', 'p', 's', '+': of the text's columns.
char letter(Activity activity);
/// "waits for K or V"
const char* name(Activity activity);

/// Cycles [begin, end).
struct Stretch {
  Activity activity;
  std::uint32_t begin, end;
};
std::vector<Stretch> stretches_of(const Stamps& stamps);

/// When a consumer had products under way, as far as it knew: from their start until its wait for
/// them returned.
struct Interval {
  std::uint32_t begin, end;
};
std::vector<Interval> products_of(const Stamps& stamps);

/// When it came to tile t of the keys, t < its tiles.
std::uint32_t begin_of_tile(const Stamps& stamps, std::int64_t tile);

/// Cycles that the products of a tile of keys take: a multiprocessor's tensor cores do 4096 FLOPs
/// of bf16 a cycle (NVIDIA's H100 white paper).
inline constexpr double least_cycles_a_tile = 4. * tile_rows * tile_keys * width / 4096;

struct Shares {
  std::uint32_t cycles;                        ///< of the block, with all stamps
  double cycles_a_tile;                        ///< of the launch with two stamps
  std::array<double, activities> of_consumer;  ///< of its time, the mean of the consumers
  double hidden;                               ///< of the softmax: its own products under way
  double utilisation;                          ///< least_cycles_a_tile / cycles_a_tile
};
Shares shares_of(const OrderRecording& order, std::int64_t tiles);

}  // namespace flashbook::orders
