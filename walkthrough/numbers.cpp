#include "walkthrough/numbers.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

namespace flashbook {
namespace {

std::string with_suffix(double value, double base, double limit,
                        const std::vector<const char*>& suffixes) {
  std::size_t power = 0;
  for (; value >= limit && power + 1 < suffixes.size(); ++power) value /= base;
  return short_number(value) + suffixes[power];
}

}  // namespace

std::string short_number(double value) {
  if (std::isnan(value)) return "–";
  char text[32];
  const double digits = std::pow(10, std::floor(std::log10(std::abs(value))) - 2);
  const bool is_long = std::abs(value) >= 999.5 && std::abs(value) < 1e6;
  std::snprintf(text, sizeof text, is_long ? "%.0f" : "%.3g",
                is_long ? std::round(value / digits) * digits : value);
  return text;
}

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  const std::string written = text;
  const bool is_zero = written.find_first_not_of("-0.") == std::string::npos;
  return is_zero && written[0] == '-' ? written.substr(1) : written;
}

std::string short_count(double value) {
  return with_suffix(value, 1024, 1024, {"", "k", "M", "G"});
}

std::string short_bytes(double bytes) {
  return with_suffix(bytes, 1000, 999.5, {" B", " kB", " MB", " GB", " TB", " PB"});
}

std::string short_bytes(Index bytes) {
  return short_bytes(static_cast<double>(bytes));
}

std::string short_flops(double flops) {
  return with_suffix(flops, 1000, 999.5,
                     {" FLOP", " kFLOP", " MFLOP", " GFLOP", " TFLOP", " PFLOP", " EFLOP"});
}

std::string short_flops(Index flops) {
  return short_flops(static_cast<double>(flops));
}

std::string short_seconds(double seconds) {
  return with_suffix(1e9 * seconds, 1000, 999.5, {" ns", " µs", " ms", " s"});
}

std::string percent(double share) {
  const std::string tenths = short_number(std::round(1000 * share) / 10);
  return std::isnan(share) ? tenths : tenths + " %";
}

std::string text_of(const io::Blocks& blocks) {
  return std::to_string(blocks.rows) + " × " + std::to_string(blocks.columns);
}

}  // namespace flashbook
