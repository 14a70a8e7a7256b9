// Recordings drawn: time from left to right, two lanes a consumer.
#pragma once

#include <string>
#include <vector>

#include "walkthrough/orders/recording.hpp"

namespace flashbook::orders {

/// So many cycles, from when the block's first consumer came to a tile of keys.
struct Window {
  std::int64_t tile;
  std::uint32_t cycles;
};

/// "NVIDIA H200, driver 580.159.04", or what the emulator's steps are.
std::string place_of(const Recording& recording);

/// One order, at most 80 columns wide.
std::string text_of(const Recording& recording, const OrderRecording& order, const Window& window);
/// Orders below each other, on one scale.
std::string svg_of(const Recording& recording, const std::vector<const OrderRecording*>& orders,
                   const Window& window);
/// A line an order: where its time went.
std::string table_of(const Recording& recording);

}  // namespace flashbook::orders
