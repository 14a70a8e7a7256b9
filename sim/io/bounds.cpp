#include "sim/io/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashbook::io {

double compulsory(const Shape& s, bool backward) {
  return (backward ? 8 : 4) * s.n * s.d;
}

double forward_lower_bound(const Shape& s) {
  return std::max(compulsory(s, false), s.n * s.n * s.d * s.d / (s.m + 4 * s.d * s.d) - s.m);
}

double standard_order(const Shape& s) {
  return s.n * s.d + s.n * s.n;
}

double flash_order(const Shape& s) {
  return s.n * s.n * s.d * s.d / s.m;
}

double optimal_forward_order(const Shape& s) {
  return std::min(s.n * s.n * s.d / std::sqrt(s.m), flash_order(s));
}

double optimal_backward_order(const Shape& s) {
  const double n = s.n, d = s.d;
  return std::min((n * n * d * d + n * d * d * d) / s.m, (n * n * d + n * d * d) / std::sqrt(s.m));
}

namespace {

/// Side of the tiles: three operands and one to spare.
double side_of_squares(const Shape& s) {
  return std::floor(std::sqrt(s.m / 4));
}

}  // namespace

double square_tiling(const Shape& s) {
  const double B = side_of_squares(s);
  if (B < 1) return std::numeric_limits<double>::infinity();
  // S = QKᵀ: a tile of S stays, strips of Q and K pass; softmax; O = PV: a tile of O stays.
  const double tiles_n = std::ceil(s.n / B), tiles_d = std::ceil(s.d / B);
  const double product_S = 2 * s.n * s.d * tiles_n + s.n * s.n;
  const double softmax = 2 * s.n * s.n;
  const double product_O = s.n * s.n * tiles_d + s.n * s.d * tiles_n + s.n * s.d;
  return product_S + softmax + product_O;
}

double square_tiling_undivided(const Shape& s) {
  const double B = side_of_squares(s);
  if (B < 1) return std::numeric_limits<double>::infinity();
  return 3 * s.n * s.n + 4 * s.n * s.n * s.d / B + s.n * s.d;
}

}  // namespace flashbook::io
