#include "answer.hpp"
#include "walkthrough/chapters/kernel_judge.hpp"

namespace flashbook::emulated {

constexpr int rows = 64;

template <int d>
struct Smem {
  Tile<half, rows, d, MySwizzle> tile;
};

float number(int row, int column) {
  return static_cast<float>((row * 31 + column) % 2048);
}

/// Every matrix of 8 x 8 by ldmatrix; what a lane gets, in out [rows / 8, d / 8, 32].
template <int d>
FLASHBOOK_KERNEL(32)
read_all(gmem<float> out) {
  Smem<d>& smem = shared_memory<Smem<d>>();
  const int lane = threadIdx.x;
  for (int i = lane; i < rows * d; i += 32)
    smem.tile(i / d, i % d) = from_float<half>(number(i / d, i % d));
  sync_warp();
  for (int row = 0; row < rows; row += 8)
    for (int chunk = 0; chunk < d / 8; ++chunk) {
      uint32_t registers[1];
      ldmatrix_x1(registers, smem.tile.at(row + lane % 8, chunk * 8));
      out((row / 8 * (d / 8) + chunk) * 32 + lane) = unpack_low<half>(registers[0]);
    }
}

template <int d>
void judge_width(book::KernelJudge& judge) {
  const std::string where = "d = " + std::to_string(d);
  for (int row = 0; row < rows; ++row)
    for (int chunk = 0; chunk < d / 8; ++chunk) {
      const int place = MySwizzle::chunk<d / 8>(row, chunk);
      judge.require(place >= 0 && place < d / 8,
                    where + ": chunk " + std::to_string(chunk) + " of row " + std::to_string(row) +
                        " is kept at " + std::to_string(place) + ", outside of its row");
      if (place < 0 || place >= d / 8) return;
    }
  constexpr int matrices = rows / 8 * (d / 8);
  book::DeviceArray<float> out(matrices * 32, std::nanf(""));
  simt::Stream stream;
  launch({"read_all", {1}, {32}, sizeof(Smem<d>)}, &stream, read_all<d>, out.view());
  judge.silent(where, stream.report);
  bool right = true;
  for (int i = 0; i < matrices * 32; ++i) {
    const int matrix = i / 32, lane = i % 32;
    right =
        right && out[static_cast<std::size_t>(i)] ==
                     number(matrix / (d / 8) * 8 + lane / 4, matrix % (d / 8) * 8 + lane % 4 * 2);
  }
  judge.require(right, where + ": two chunks of a row are kept at the same place");
  judge.equal(where + ": wavefronts of " + std::to_string(matrices) + " ldmatrix",
              stream.report.total().shared_load.cost, std::uint64_t{matrices});
}

}  // namespace flashbook::emulated

int main() {
  flashbook::book::KernelJudge judge;
  flashbook::emulated::judge_width<16>(judge);
  flashbook::emulated::judge_width<32>(judge);
  flashbook::emulated::judge_width<64>(judge);
  flashbook::emulated::judge_width<128>(judge);
  return judge.verdict();
}
