#pragma once

#include <map>

#include "cuda/api/device.hpp"

namespace flashbook {

/// The caller's processor as a device: what is launched has run when the launch returns. Each piece
/// of memory lies between 16 MiB on either side that nobody may touch, its end close to those
/// behind it, so that an access outside stops the program there and then.
class HostDevice : public Device {
 public:
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void copy_in(void* to, const void* from, std::size_t bytes) override;
  void copy_out(void* to, const void* from, std::size_t bytes) override;
  void fill(void* memory, std::byte value, std::size_t bytes) override;
  Memory memory() const override;
  void* stream() override { return nullptr; }
  void finish() override {}
  std::unique_ptr<Repeated> repeat(std::vector<std::function<void()>> launches) override;
  double copy_rate() override;
  double seconds(std::span<const std::function<void()>> launches) override;
  void profiled(const std::function<void()>& launch) override { launch(); }

 private:
  struct Pages {
    void* first;
    std::size_t bytes;
  };
  std::map<void*, Pages> pages_;
};

}  // namespace flashbook
