#pragma once

#include <string>
#include <vector>

#include "walkthrough/numbers.hpp"

namespace flashbook {

struct Point {
  double x, y;    ///< > 0 on a logarithmic axis
  bool executed;  ///< counted or timed by running (filled mark), or from a formula (open mark)
};

struct Series {
  std::string name;
  std::vector<Point> points;  ///< joined in their order
};

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
  std::string otherwise = "from a formula";  ///< what open marks are; empty: none
};

/// A picture that follows the viewer's light or dark theme.
std::string svg(const Plot& plot);

/// The same in characters, at most 80 columns, a letter a series: capital where executed.
std::string in_characters(const Plot& plot);

}  // namespace flashbook
