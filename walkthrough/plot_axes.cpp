#include "walkthrough/plot_axes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashbook {
namespace {

/// Powers of the base around [least, most]; on a short decimal axis also their doubles and fives.
std::vector<double> log_ticks(double base, double least, double most) {
  const double first = std::floor(std::log(least) / std::log(base) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log(most) / std::log(base) - 1e-9));
  const bool is_short = base == 10 && last - first <= 2;
  std::vector<double> ticks;
  for (double power = first; power <= last; ++power) {
    const double tick = std::pow(base, power);
    ticks.push_back(tick);
    if (is_short && power < last) ticks.insert(ticks.end(), {2 * tick, 5 * tick});
  }
  return ticks;
}

/// Multiples of 1, 2 or 5 times a power of ten, from 0 if all values are at least 0.
std::vector<double> linear_ticks(double least, double most) {
  least = std::min(least, 0.);
  if (most <= least) most = least + 1;
  const double power = std::pow(10, std::floor(std::log10(most - least)));
  double step = power / 5;
  for (const double factor : {2., 2.5, 2.}) {
    if ((most - least) / step <= 7) break;
    step *= factor;
  }
  std::vector<double> ticks;
  const double first = std::floor(least / step), last = std::ceil(most / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace

AxisMap::AxisMap(const Axis& axis, double least, double most)
    : scale_(axis.scale),
      ticks_(scale_ == Scale::linear ? linear_ticks(least, most)
                                     : log_ticks(scale_ == Scale::log2 ? 2 : 10, least, most)) {}

double AxisMap::position(double value) const {
  return scale_ == Scale::linear ? value : std::log(value);
}

double AxisMap::place(double value) const {
  const double first = position(ticks_.front()), last = position(ticks_.back());
  return (position(value) - first) / (last - first);
}

Axes axes_of(const Plot& plot) {
  double least_x = std::numeric_limits<double>::max(), least_y = least_x;
  double most_x = std::numeric_limits<double>::lowest(), most_y = most_x;
  for (const Series& series : plot.series)
    for (const Point& point : series.points) {
      least_x = std::min(least_x, point.x);
      most_x = std::max(most_x, point.x);
      least_y = std::min(least_y, point.y);
      most_y = std::max(most_y, point.y);
    }
  return {AxisMap(plot.x, least_x, most_x), AxisMap(plot.y, least_y, most_y)};
}

}  // namespace flashbook
