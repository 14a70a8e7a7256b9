#pragma once

#include "cuda/api/device.hpp"

namespace flashbook {

/// The CUDA runtime's current device, with a stream of its own. What the runtime reports is
/// thrown: std::bad_alloc for want of memory, else std::runtime_error.
class GpuDevice : public Device {
 public:
  GpuDevice();
  ~GpuDevice() override;

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  void fill(void* memory, std::byte value, std::size_t bytes) override;
  Memory memory() const override;
  void* stream() override { return stream_; }
  void finish() override;
  std::unique_ptr<Repeated> repeat(std::vector<std::function<void()>> launches) override;
  double copy_rate() override;
  double seconds(std::span<const std::function<void()>> launches) override;
  void profiled(const std::function<void()>& launch) override;

 private:
  void* stream_ = nullptr;
};

}  // namespace flashbook
