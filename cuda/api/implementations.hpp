#pragma once

#include <memory>
#include <vector>

#include "cuda/api/kernel_table.hpp"
#include "cuda/api/table_attention.hpp"

namespace flashbook {

/// A pair of kernels on a machine, through the C interface: `cuda.one_pass@cpu`,
/// `cuda.one_pass@gpu`.
class KernelAttention : public TableAttention {
 public:
  KernelAttention(const KernelPair& pair, Machine machine, MakeDevice make_device);

 private:
  KernelAttention(std::unique_ptr<const KernelTable> table, MakeDevice make_device);

  std::unique_ptr<const KernelTable> table_;
};

/// All pairs on the emulator; the first thing that it finds is thrown.
std::vector<std::unique_ptr<Implementation>> emulated_implementations(const simt::Options& options);
/// All pairs on the GPU. Their calls throw InputError where there is none.
std::vector<std::unique_ptr<Implementation>> gpu_implementations();

}  // namespace flashbook
