#include "tests/gpu/wavefronts/kernels.cuh"
#include "tests/gpu/wavefronts/patterns.hpp"

namespace flashbook::wavefronts {

LaunchStatus emulate(const Pattern& pattern, unsigned& wavefronts) {
  simt::Stream stream;
  stream.options.check = false;  // nobody has written what is read, and lanes write to one place
  std::array<uint32_t, 32> out;
  const LaunchStatus status = emulated::wavefronts::launch_access(
      pattern.bytes, pattern.is_write, &stream, {pattern.word.data(), 32}, {out.data(), 32});
  const simt::LineCounts total = stream.report.total();
  wavefronts =
      static_cast<unsigned>((pattern.is_write ? total.shared_store : total.shared_load).cost);
  return status;
}

}  // namespace flashbook::wavefronts
