// What the programs have in common that run probes on a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/simt/conformance/dump.hpp"

namespace flashbook::probes {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Device memory that is freed at the end.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    for (void* p : allocations_) cudaFree(p);
  }

  uint32_t* upload(const Words& words) {
    uint32_t* device = zeros(static_cast<int>(words.size()));
    check(cudaMemcpy(device, words.data(), words.size() * 4, cudaMemcpyHostToDevice));
    return device;
  }
  uint32_t* zeros(int n) {
    void* device = nullptr;
    check(cudaMalloc(&device, static_cast<std::size_t>(n) * 4 + 4));
    allocations_.push_back(device);
    check(cudaMemset(device, 0, static_cast<std::size_t>(n) * 4));
    return static_cast<uint32_t*>(device);
  }
  Words download(const uint32_t* device, int n) {
    Words words(static_cast<std::size_t>(n));
    check(cudaMemcpy(words.data(), device, words.size() * 4, cudaMemcpyDeviceToHost));
    return words;
  }

 private:
  std::vector<void*> allocations_;
};

inline std::string version(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

inline std::string device_text() {
  cudaDeviceProp properties = {};
  int driver = 0, runtime = 0;
  check(cudaGetDeviceProperties(&properties, 0));
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  return std::string(properties.name) + ", sm_" + std::to_string(properties.major) +
         std::to_string(properties.minor) + ", driver for CUDA " + version(driver) + ", runtime " +
         version(runtime);
}

/// Runs all probes on this machine's GPU and writes what they gave; what main returns.
template <template <class> class Run>
int write_dump() {
  try {
    DeviceMemory memory;
    Run<DeviceMemory> run(memory, nullptr);
    const auto results = run.all();
    if (!run.error().empty()) throw std::runtime_error(run.error());
    write(std::cout, {device_text(), results});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace flashbook::probes
