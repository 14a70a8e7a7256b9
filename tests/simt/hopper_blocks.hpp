#pragma once

#include <string>
#include <utility>

#include "cuda/isa/hopper.cuh"

/// Blocks and clusters of kernels that are lambdas of a test.
namespace flashbook::emulated {

template <class Smem, class Kernel>
simt::Report run_blocks(unsigned threads, unsigned cluster, Kernel kernel,
                        simt::Options options = {}) {
  simt::LaunchShape shape = {"kernel", {cluster}, {threads}, sizeof(Smem)};
  shape.cluster = cluster;
  shape.float_atomics = true;
  return simt::launch(shape, options, [&] { kernel(shared_memory<Smem>()); });
}

template <class Smem, class Kernel>
simt::Report run_block(unsigned threads, Kernel kernel, const simt::Options& options = {}) {
  return run_blocks<Smem>(threads, 1, kernel, options);
}

inline std::string texts(const simt::Report& report) {
  std::string out;
  for (const auto& finding : report.findings) out += finding.text();
  return out;
}

/// Whether something of this category was found whose text has the part.
inline bool finds(const simt::Report& report, simt::Category category, const std::string& part) {
  for (const auto& f : report.findings)
    if (f.category == category && f.what.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace flashbook::emulated
