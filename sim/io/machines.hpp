#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "cpu_reference/tensor_view.hpp"

/// The GPUs whose limits the roofline model knows. (memory.hpp's Machine is what algorithms run
/// on.)
namespace flashbook::io {

/// What one GPU can do at most, by its vendor's word. All numbers are finite, and above 0 unless
/// they may be unknown.
struct Gpu {
  std::string name;
  std::string source;  ///< where the numbers come from, and which of them nobody here has checked
  Index multiprocessors;
  Index sram_bytes;           ///< shared memory of a multiprocessor
  Index l2_bytes;             ///< of the whole GPU, 0 if unknown: shown, in no formula
  double dram_bytes_per_s;    ///< read and written together
  double tensor_flops_per_s;  ///< fp16 or bf16 in, fp32 out, no sparsity
  double fp32_flops_per_s;    ///< of the ordinary units
  double clock_hz;            ///< of a multiprocessor, where it reaches tensor_flops_per_s
  double exp2_per_clock;      ///< of a multiprocessor

  /// Of the units that multiply matrices of this type: tensor cores, or fp32's own.
  double matmul_flops_per_s(DType dtype) const {
    return dtype == DType::fp32 ? fp32_flops_per_s : tensor_flops_per_s;
  }
  /// exp2 is 16 a clock and multiprocessor on all of gpus(): FA3 (arXiv 2407.08608, section 3.1)
  /// for Hopper, FA4 (arXiv 2603.05451) for B200, and for A100 and RTX 4080 the special functions
  /// in the CUDA C++ Programming Guide's table of arithmetic instructions (compute capability 8.0
  /// and 8.9), which nobody here has checked.
  double exp2_per_s() const {
    return static_cast<double>(multiprocessors) * exp2_per_clock * clock_hz;
  }
  /// FLOPs to each byte of DRAM traffic above which the arithmetic takes longer than the traffic.
  double ridge(DType dtype) const { return matmul_flops_per_s(dtype) / dram_bytes_per_s; }
};

/// A100, RTX 4080, H100, H200, B200.
std::span<const Gpu> gpus();

/// Ignores case, spaces and hyphens: "rtx4080" is "RTX 4080".
bool same_name(std::string_view a, std::string_view b);

/// The one of gpus() that has this name; nullptr if none has.
const Gpu* find_gpu(std::string_view name);

/// The numbers of a Gpu by name, with what they mean: what a description of one has to give.
struct GpuField {
  std::string_view name, meaning;
  std::variant<Index Gpu::*, double Gpu::*> member;
  bool may_be_unknown = false;  ///< a description may leave it out, or give 0
};
std::span<const GpuField> gpu_fields();

/// Throws InputError that names the machine and the field unless every field is as Gpu says.
void check(const Gpu& gpu);

}  // namespace flashbook::io
