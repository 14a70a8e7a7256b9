#pragma once

#include <cstdint>

#include "sim/simt/collective.hpp"
#include "sim/simt/half.hpp"
#include "sim/simt/pointer.hpp"

/// The warp's matrix instructions. Fragments are as PTX lays them out over the lanes.
namespace flashbook::simt {

struct LdmatrixArguments {
  std::uint32_t* registers;
  const Pointer<const std::byte>& row;
};

struct MmaArguments {
  float* d;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

// For the whole warp, when its lanes have come.
void execute_ldmatrix(Warp& warp, LdmatrixArguments* const* lane, unsigned count, bool transposed);
template <class T>
void execute_mma(Warp& warp, MmaArguments* const* lane);

extern template void execute_mma<emulated::half>(Warp&, MmaArguments* const*);
extern template void execute_mma<emulated::bfloat16>(Warp&, MmaArguments* const*);

/// Loads `count` (1, 2 or 4) matrices of 8 x 8 16-bit elements from shared memory; lane 8i + r
/// gives the address of row r of matrix i. Lane l receives in registers[i] the elements 2(l % 4)
/// and the next of row l / 4, or of that column if `transposed`. PTX ISA, "Warp-level matrix load
/// instruction: ldmatrix".
template <unsigned count>
void ldmatrix(std::uint32_t (&registers)[count], const Pointer<const std::byte>& row,
              bool transposed, Site site) {
  LdmatrixArguments mine = {registers, row};
  collectively(Instruction::ldmatrix, mine, site, [=](Warp& warp, LdmatrixArguments* const* lane) {
    execute_ldmatrix(warp, lane, count, transposed);
  });
}

/// D[16, 8] += A[16, 16] B[16, 8] with products exact and sums in fp32. T: half or bfloat16.
/// PTX ISA, "Multiply-and-Accumulate Instruction: mma", fragments for m16n8k16.
template <class T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                  Site site) {
  MmaArguments mine = {d, a, {b0, b1}};
  collectively(Instruction::mma, mine, site, execute_mma<T>);
}

}  // namespace flashbook::simt
