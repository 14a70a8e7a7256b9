#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace flashbook::emulated {

constexpr int side = 16;

struct Smem {
  Tile<half, side, side> A, V;
};

/// This lane's part of 1, as the left operand and as two right ones.
FLASHBOOK_DEVICE void identity(uint32_t (&a)[4], uint32_t (&b)[4]) {
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  const uint32_t pair = pack<half>(row == column, row == column + 1);
  a[0] = a[3] = b[0] = b[3] = pair;
  a[1] = a[2] = b[1] = b[2] = 0;
}

/// O [16, 16] = A V, one of them by the answer's addresses, the other being 1.
template <bool asks_left>
FLASHBOOK_KERNEL(32)
product(gmem<const float> A, gmem<const float> V, gmem<float> O) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x;
  for (int i = lane; i < side * side; i += 32) {
    smem.A(i / side, i % side) = from_float<half>(A(i));
    smem.V(i / side, i % side) = from_float<half>(V(i));
  }
  sync_warp();
  uint32_t a[4], b[4];
  identity(a, b);
  const Place place = asks_left ? of_left(lane) : of_V(lane);
  if constexpr (asks_left)
    ldmatrix_x4(a, smem.A.at(place.row, place.column));
  else
    ldmatrix_x4_trans(b, smem.V.at(place.row, place.column));
  float D[2][4] = {};
  mma_m16n8k16<half>(D[0], a, b[0], b[1]);
  mma_m16n8k16<half>(D[1], a, b[2], b[3]);
  for (int i = 0; i < 8; ++i) {
    const int row = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    O(row * side + column) = D[i / 4][i % 4];
  }
}

}  // namespace flashbook::emulated

namespace {

using namespace flashbook;
using book::DeviceArray;
using Numbers = DeviceArray<float>;

constexpr std::size_t side = 16;

/// 16 r + c, all different.
Numbers numbered() {
  Numbers x(side * side, 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  return x;
}

/// A V must be `numbered`: one of them is, the other is 1.
template <bool asks_left>
void judge_product(book::KernelJudge& judge, const std::string& name) {
  Numbers x = numbered(), O(side * side, std::nanf("")), expected = numbered();
  simt::Stream stream;
  emulated::launch({"product", {1}, {32}, sizeof(emulated::Smem)}, &stream,
                   emulated::product<asks_left>, x.constant(), x.constant(), O.view());
  judge.silent(name, stream.report);
  for (std::size_t i = 0; i < O.size(); ++i)
    judge.equal(name + ", row " + std::to_string(i / side) + ", column " + std::to_string(i % side),
                O[i], expected[i]);
}

}  // namespace

int main() {
  book::KernelJudge judge;
  judge_product<true>(judge, "of_left: A times 1, A's elements being 16 r + c");
  judge_product<false>(judge, "of_V: 1 times V, whose elements are 16 r + c");
  return judge.verdict();
}
