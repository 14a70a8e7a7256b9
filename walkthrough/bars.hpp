#pragma once

#include <string>
#include <vector>

namespace flashbook {

/// One bar: a part of a whole that was used, and the rest of it.
struct Bar {
  std::string label;
  double used, whole;
  std::string note;  ///< at the bar's end
};

/// At least one bar; the longest whole fills the width.
struct BarChart {
  std::string title;
  std::string unit;  ///< what a bar's length means
  std::string rest;  ///< what became of the part that was not used, at most 24 characters
  std::vector<Bar> bars;
};

/// A picture that follows the viewer's light or dark theme.
std::string svg(const BarChart& chart);

/// The same in characters, at most 80 columns.
std::string in_characters(const BarChart& chart);

}  // namespace flashbook
