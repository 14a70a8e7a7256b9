#pragma once

#include "cuda/api/device.hpp"
#include "cuda/isa/launch.cuh"

namespace flashbook {

/// The emulator as a device. Kernels run while they are launched, and their launchers return what
/// was found; nothing is left for finish().
class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const simt::Options& options) { stream_.options = options; }

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  void fill(void* memory, std::byte value, std::size_t bytes) override;
  Memory memory() const override;
  void* stream() override { return &stream_; }
  void finish() override {}
  std::unique_ptr<Repeated> repeat(std::vector<std::function<void()>> launches) override;
  double copy_rate() override;
  double seconds(std::span<const std::function<void()>> launches) override;
  void profiled(const std::function<void()>& launch) override { launch(); }

  /// What all launches so far showed.
  const simt::Report& report() const { return stream_.report; }
  simt::Options& options() { return stream_.options; }

 private:
  simt::Stream stream_;
};

}  // namespace flashbook
