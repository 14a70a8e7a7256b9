#include "walkthrough/draw/fragments.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/simt/launch.hpp"
#include "walkthrough/chapters/09_tensor_cores/fragments.cuh"
#include "walkthrough/chapters/device_array.hpp"

namespace flashbook::draw {
namespace {

using book::DeviceArray;
using emulated::Tile, emulated::XorSwizzle, emulated::half;
namespace fragments = emulated::fragments;

constexpr int side = 16, lanes = 32;
using Numbers = DeviceArray<float>;

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

/// All elements different: 16 r + c.
void number_elements(Numbers& x) {
  for (int i = 0; i < side * side; ++i) x[index(i)] = static_cast<float>(i);
}

/// Operands with A B^T = 16 r + c: their first two columns are r, 1 and 16, c.
void number_product(Numbers& A, Numbers& B) {
  for (int i = 0; i < side; ++i) {
    A[index(side * i)] = static_cast<float>(i);
    A[index(side * i + 1)] = 1;
    B[index(side * i)] = side;
    B[index(side * i + 1)] = static_cast<float>(i);
  }
}

void require_clean(const simt::Report& report) {
  if (!report.clean()) throw std::runtime_error(report.findings.front().text());
}

/// [32, 24]: what the lanes hold.
Numbers held_by_lanes(Numbers& A, Numbers& B) {
  Numbers held(lanes * fragments::numbers_of_lane, -1);
  simt::Stream stream;
  emulated::launch({"hold", {1}, {lanes}, sizeof(fragments::Smem)}, &stream, fragments::hold,
                   A.constant(), B.constant(), held.view());
  require_clean(stream.report);
  return held;
}

/// Of a matrix whose element (r, c) is 16 r + c: the lanes' numbers from `first` on say where it
/// is.
Fragment fragment_of(Numbers& held, int first) {
  Fragment out = {side, side, std::vector<Place>(side * side)};
  for (int lane = 0; lane < lanes; ++lane)
    for (int number = 0; number < 8; ++number) {
      const float element = held[index(lane * fragments::numbers_of_lane + first + number)];
      out.places.at(static_cast<std::size_t>(element)) = {lane, number};
    }
  return out;
}

template <class Rows>
std::array<std::array<int, 8>, 8> banks_of() {
  std::array<std::array<int, 8>, 8> banks = {};
  Rows rows = {};
  for (int row = 0; row < 8; ++row)
    for (int chunk = 0; chunk < 8; ++chunk)
      banks[index(row)][index(rows.at(row, chunk * 8).pointer().index() / 8 % 8)] = chunk;
  return banks;
}

template <class Rows>
Layout layout(const std::string& name) {
  Numbers out(lanes, 0);
  simt::Stream stream;
  emulated::launch({"read_column", {1}, {lanes}, sizeof(fragments::Column<Rows>)}, &stream,
                   fragments::read_column<Rows>, out.view(), 0);
  require_clean(stream.report);
  return {name, banks_of<Rows>(), stream.report.total().shared_load.cost};
}

}  // namespace

int Product::shared_with_A() const {
  int shared = 0;
  for (std::size_t i = 0; i < D.places.size(); ++i) shared += D.places[i].lane == A.places[i].lane;
  return shared;
}

int Product::number_of_D(int n) const {
  int found = -1;
  for (std::size_t i = 0; i < A.places.size(); ++i) {
    if (A.places[i].number != n) continue;
    if (found != -1 && found != D.places[i].number) return -1;
    found = D.places[i].number;
  }
  return found;
}

Product run_product() {
  Numbers A(side * side, 0), B(side * side, 0);
  number_product(A, B);
  Numbers held = held_by_lanes(A, B);
  const Fragment D = fragment_of(held, 16);
  number_elements(A);
  number_elements(B);
  held = held_by_lanes(A, B);
  return {fragment_of(held, 0), fragment_of(held, 8), D};
}

std::vector<Layout> run_layouts() {
  return {layout<Tile<half, 8, 64>>("plain"), layout<Tile<half, 8, 72>>("padded"),
          layout<Tile<half, 8, 64, XorSwizzle>>("swizzled")};
}

}  // namespace flashbook::draw
