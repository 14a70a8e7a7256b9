#pragma once

#include <string>
#include <vector>

namespace flashbook {

struct Point {
  double x, y;    ///< both > 0
  bool executed;  ///< counted by running (filled mark), or from a formula (open mark)
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

/// A log-log line plot. Tick labels are numbers with a suffix: "4k", "1 GB".
struct Plot {
  std::string title, x_label, y_label;
  std::vector<Series> series;  ///< at most six
};

/// A picture that follows the viewer's light or dark theme.
std::string svg(const Plot& plot);

/// The same in characters, at most 80 columns, a letter a series: capital where executed.
std::string in_characters(const Plot& plot);

/// "512", "4k", "1M" (powers of 1024).
std::string short_count(double value);
/// "820 B", "4.19 MB", "1.2 GB" (powers of 1000).
std::string short_bytes(double bytes);

}  // namespace flashbook
