#include "sim/simt/tensor_core.hpp"

#include <array>
#include <cstring>
#include <string>

#include "sim/simt/access.hpp"
#include "sim/simt/collective.hpp"
#include "sim/simt/cost.hpp"
#include "sim/simt/widen.hpp"

namespace flashbook::simt {
namespace {

struct Row16 {
  alignas(16) std::array<Bits, 8> element;
};

using Matrix = std::array<Row16, 8>;

/// Row `lane` % 8 of a matrix, from the address that the lane gives.
Row16 load_row(const Warp& warp, unsigned lane, const Pointer<const std::byte>& row) {
  this_thread = warp.first + lane;  // it is this lane that reads: reports name it
  if (!detail::admits<Row16>(row, warp.site)) return detail::poison<Row16>();
  if (sm->options().check)
    sm->races.read(this_thread->index, static_cast<std::size_t>(row.at - sm->shared()),
                   sizeof(Row16), id_of(warp.site));
  return detail::copy_of<Row16>(row.at);
}

std::uint32_t pair(Bits low, Bits high) {
  return low | std::uint32_t{high} << 16;
}

void distribute(const Matrix& m, bool transposed, LdmatrixArguments* const* lane, unsigned number) {
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned i = l / 4, j = l % 4 * 2;
    lane[l]->registers[number] = transposed ? pair(m[j].element[i], m[j + 1].element[i])
                                            : pair(m[i].element[j], m[i].element[j + 1]);
  }
}

void count_ldmatrix(LdmatrixArguments* const* lane, unsigned rows, Site site) {
  std::array<std::uint64_t, 32> address = {};
  for (unsigned l = 0; l < rows; ++l)
    address[l] = static_cast<std::uint64_t>(lane[l]->row.at - sm->shared());
  LineCounts& line = sm->line(site);
  ++line.ldmatrix;
  ++line.shared_load.instructions;
  for (unsigned first = 0; first < rows; first += 8) {  // a matrix after the other
    const WarpAddresses matrix = {address.data(), 0xffu << first, 16};
    line.shared_load.cost += wavefronts(matrix);
    line.shared_load.ideal += ideal_wavefronts(matrix);
  }
}

/// The instruction needs whole warps.
void require_whole(const Warp& warp, const char* instruction) {
  if (warp.live == ~0u) return;
  sm->stop(Category::divergence, id_of(warp.site), 0,
           std::string(instruction) + (warp.lanes == ~0u
                                           ? " in a warp of which lanes have left the kernel"
                                           : " in a warp of fewer than 32 threads"));
}

// ---- mma

constexpr unsigned M = 16, N = 8, K = 16;

/// A row of B or D. One vector register where there are such; g++ and clang split it elsewhere.
using Row8 [[gnu::vector_size(N * sizeof(float))]] = float;

struct Operands {
  alignas(32) float A[M][K];
  Row8 B[K], D[M];
};

float* column(Row8& row, unsigned j) {
  return reinterpret_cast<float*>(&row) + j;
}

/// Lane l holds, with g = l / 4 and t = 2(l % 4): of A, rows g and g + 8, columns t, t + 1 and
/// t + 8, t + 9; of B the same rows of column g; of D, rows g and g + 8, columns t, t + 1.
template <class T>
void gather(MmaArguments* const* lane, Operands& x) {
  alignas(32) Bits A[M][K], B[K][N];
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned g = l / 4, t = l % 4 * 2;
    const auto& [d, a, b] = *lane[l];
    std::memcpy(&A[g][t], &a[0], 4);
    std::memcpy(&A[g + 8][t], &a[1], 4);
    std::memcpy(&A[g][t + 8], &a[2], 4);
    std::memcpy(&A[g + 8][t + 8], &a[3], 4);
    for (unsigned i = 0; i < 2; ++i) {
      B[t + 8 * i][g] = static_cast<Bits>(b[i]);
      B[t + 8 * i + 1][g] = static_cast<Bits>(b[i] >> 16);
    }
    std::memcpy(column(x.D[g], t), &d[0], 8);
    std::memcpy(column(x.D[g + 8], t), &d[2], 8);
  }
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; k += 8) widen<T>(&A[i][k], &x.A[i][k]);
  for (unsigned k = 0; k < K; ++k) widen<T>(B[k], column(x.B[k], 0));
}

void scatter(Operands& x, MmaArguments* const* lane) {
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned g = l / 4, t = l % 4 * 2;
    std::memcpy(&lane[l]->d[0], column(x.D[g], t), 8);
    std::memcpy(&lane[l]->d[2], column(x.D[g + 8], t), 8);
  }
}

/// D += A B, in two sums a row: they need not wait for each other.
void multiply_add(Operands& x) {
  for (unsigned i = 0; i < M; ++i) {
    Row8 even = x.D[i], odd = {};
    for (unsigned k = 0; k < K; k += 2) {
      even += x.A[i][k] * x.B[k];
      odd += x.A[i][k + 1] * x.B[k + 1];
    }
    x.D[i] = even + odd;
  }
}

}  // namespace

void execute_ldmatrix(Warp& warp, LdmatrixArguments* const* lane, unsigned count, bool transposed) {
  require_whole(warp, "ldmatrix");
  if (sm->options().count) count_ldmatrix(lane, count * 8, warp.site);
  Thread* const executing = this_thread;
  for (unsigned i = 0; i < count; ++i) {
    Matrix matrix;
    for (unsigned r = 0; r < 8; ++r) matrix[r] = load_row(warp, 8 * i + r, lane[8 * i + r]->row);
    distribute(matrix, transposed, lane, i);
  }
  this_thread = executing;
}

template <class T>
void execute_mma(Warp& warp, MmaArguments* const* lane) {
  require_whole(warp, "mma");
  if (sm->options().count) {
    LineCounts& line = sm->line(warp.site);
    ++line.mma;
    line.mma_flops += std::uint64_t{2} * M * N * K;
  }
  Operands x;
  gather<T>(lane, x);
  multiply_add(x);
  scatter(x, lane);
}

template void execute_mma<emulated::half>(Warp&, MmaArguments* const*);
template void execute_mma<emulated::bfloat16>(Warp&, MmaArguments* const*);

}  // namespace flashbook::simt
