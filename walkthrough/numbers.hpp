#pragma once

#include <string>

#include "sim/io/algorithms.hpp"

/// The one way to write a number for people. Programs get numbers as they are.
namespace flashbook {

/// At most three significant digits; without an exponent below 10⁶. "–" for NaN: there is none.
std::string short_number(double value);
/// With so many decimals, zero without a sign.
std::string fixed(double value, int decimals);
/// "512", "4k", "1M" (powers of 1024).
std::string short_count(double value);
/// "820 B", "4.19 MB", "1.2 GB" (powers of 1000).
std::string short_bytes(double bytes);
std::string short_bytes(Index bytes);
/// "41.9 PFLOP" (powers of 1000).
std::string short_flops(double flops);
std::string short_flops(Index flops);
/// "80.4 µs", "1.76 ms", "134 s".
std::string short_seconds(double seconds);
/// "12.5 %", to a tenth, of a share of 1; "–" of nothing (0 / 0).
std::string percent(double share);
/// "64 × 128": rows and columns of a tile of S.
std::string text_of(const io::Blocks& blocks);

}  // namespace flashbook
