#pragma once

#include <string>
#include <vector>

namespace flashbook {

struct Point {
  double x, y;    ///< > 0 on a logarithmic axis
  bool executed;  ///< counted or timed by running (filled mark), or from a formula (open mark)
};

struct Series {
  std::string name;
  std::vector<Point> points;  ///< joined in their order
};

/// "512", "4k", "1M" (powers of 1024).
std::string short_count(double value);
/// "820 B", "4.19 MB", "1.2 GB" (powers of 1000).
std::string short_bytes(double bytes);
/// "41.9 PFLOP" (powers of 1000).
std::string short_flops(double flops);
/// "80.4 us", "1.76 ms", "134 s".
std::string short_seconds(double seconds);
/// At most three significant digits; without an exponent below 10⁶.
std::string short_number(double value);

enum class Scale { linear, log2, log10 };

struct Axis {
  std::string label;  ///< with its unit
  Scale scale;
  std::string (*tick)(double) = short_number;
};

/// A line plot of at most eight series, at least one of which has a point.
struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::string otherwise = "from a formula";  ///< what a point is that was not executed
};

/// A picture that follows the viewer's light or dark theme.
std::string svg(const Plot& plot);

/// The same in characters, at most 80 columns, a letter a series: capital where executed.
std::string in_characters(const Plot& plot);

}  // namespace flashbook
