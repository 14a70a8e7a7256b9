#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace flashbook::emulated {

constexpr int side = 16;

struct Smem {
  Tile<half, side, side> Q, K;
  Tile<float, side, side> S;
};

/// S [16, 16] = Q K^T with -1 where the column is greater than row + diagonal. What masks asks the
/// answer; what stores S does not.
FLASHBOOK_KERNEL(32)
masked(gmem<const float> Q, gmem<const float> K, gmem<float> S_gmem, int diagonal) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x;
  for (int i = lane; i < side * side; i += 32) {
    smem.Q(i / side, i % side) = from_float<half>(Q(i));
    smem.K(i / side, i % side) = from_float<half>(K(i));
  }
  sync_warp();
  uint32_t a[4], b[4];
  ldmatrix_x4(a, smem.Q.at(lane % 16, lane / 16 * 8));
  ldmatrix_x4(b, smem.K.at(lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8));
  float S[2][4] = {};
  mma_m16n8k16<half>(S[0], a, b[0], b[1]);
  mma_m16n8k16<half>(S[1], a, b[2], b[3]);
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 4; ++i)
      if (column_of(lane, n, i) > row_of(lane, i) + diagonal) S[n][i] = -1;
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 2; ++h) {
      float* pair = &S[n][2 * h];
      const int at = (lane / 4 + 8 * h) * side + 8 * n + 2 * (lane % 4);
      S_gmem(at) = pair[0];
      S_gmem(at + 1) = pair[1];
    }
}

}  // namespace flashbook::emulated

namespace {

using namespace flashbook;
using book::DeviceArray;

constexpr int side = 16;

void judge_mask(book::KernelJudge& judge, int diagonal) {
  constexpr std::size_t size = side * side;
  DeviceArray<float> Q(size, 0), K(size, 0), S(size, std::nanf(""));
  for (std::size_t i = 0; i < side; ++i) {  // S = 16 i + j
    Q[side * i] = static_cast<float>(i);
    Q[side * i + 1] = 1;
    K[side * i] = side;
    K[side * i + 1] = static_cast<float>(i);
  }
  simt::Stream stream;
  emulated::launch({"masked", {1}, {32}, sizeof(emulated::Smem)}, &stream, emulated::masked,
                   Q.constant(), K.constant(), S.view(), diagonal);
  judge.silent("diagonal " + std::to_string(diagonal), stream.report);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      judge.equal("with the diagonal at key " + std::to_string(diagonal) + ", S(" +
                      std::to_string(i) + ", " + std::to_string(j) + ")",
                  S[static_cast<std::size_t>(i * side + j)],
                  j > i + diagonal ? -1.f : static_cast<float>(side * i + j));
}

}  // namespace

int main() {
  book::KernelJudge judge;
  for (const int diagonal : {0, -16, -7, 3, 15}) judge_mask(judge, diagonal);
  return judge.verdict();
}
