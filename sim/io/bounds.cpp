#include "sim/io/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/error.hpp"

namespace flashbook::io {

double compulsory(const Shape& s, bool backward) {
  return (backward ? 8 : 4) * s.n * s.d;
}

double forward_lower_bound(const Shape& s) {
  return std::max(compulsory(s, false), s.n * s.n * s.d * s.d / (s.m + 4 * s.d * s.d) - s.m);
}

double flash_order(const Shape& s) {
  return s.n * s.n * s.d * s.d / s.m;
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

void check_countable(const std::string& argument, Index n, Index d, double heads) {
  // FA1's backward pass in 1 × 1 tiles: Q, O, dO, dQ, m and l in, dQ out, 4 bytes each.
  const double bytes_a_pair = 4 * (5 * static_cast<double>(d) + 2);
  const double pairs = static_cast<double>(n) * static_cast<double>(n) * heads;
  if (bytes_a_pair * pairs > 0x1p62)
    throw InputError(
        argument + " is " + std::to_string(n) + ": with d = " + std::to_string(d) +
        " and all heads of all sequences its counts may pass 2^62; pass smaller sizes");
}

}  // namespace flashbook::io
