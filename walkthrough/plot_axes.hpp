#pragma once

#include "walkthrough/plot.hpp"

namespace flashbook {

/// Values of an axis, from its first tick to its last, mapped to [0, 1].
class AxisMap {
 public:
  AxisMap(const Axis& axis, double least, double most);

  double place(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double position(double value) const;

  Scale scale_;
  std::vector<double> ticks_;
};

struct Axes {
  AxisMap x, y;
};

/// Axes that hold every point.
Axes axes_of(const Plot& plot);

}  // namespace flashbook
