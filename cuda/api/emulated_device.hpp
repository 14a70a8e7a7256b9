#pragma once

#include "cuda/api/host_device.hpp"
#include "cuda/isa/launch.cuh"

namespace flashbook {

/// The emulator as a device. Kernels run while they are launched, and their launchers return what
/// was found; nothing is left for finish().
class EmulatedDevice : public HostDevice {
 public:
  explicit EmulatedDevice(const simt::Options& options) { stream_.options = options; }

  void* stream() override { return &stream_; }

  /// What all launches so far showed.
  const simt::Report& report() const { return stream_.report; }
  simt::Options& options() { return stream_.options; }

 private:
  simt::Stream stream_;
};

}  // namespace flashbook
