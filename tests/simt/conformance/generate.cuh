// What the programs have in common that run probes on a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/simt/conformance/children.hpp"

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

/// How many failed but for those that must, which are named illegal_….
inline int print_unexpected_failures(const Dump& dump) {
  int n = 0;
  for (const std::string& probe : dump.failed) {
    if (probe.rfind("illegal_", 0) == 0) continue;
    std::fprintf(stderr, "failed: %s\n", probe.c_str());
    ++n;
  }
  return n;
}

/// Runs all probes on this machine's GPU, writes what they gave to the file that is the argument,
/// and names those that failed; what main returns. CUDA must not have started before a fork: here
/// it does last.
template <template <class> class Run>
int write_dump(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("one argument is needed: the dump's file");
    Dump dump = dump_in_children(
        [](Reporter& reporter) {
          check(cudaFree(nullptr));  // there is a GPU: else no probe begins
          DeviceMemory memory;
          Run<DeviceMemory>(memory, nullptr, &reporter).all();
        },
        30);
    dump.device = device_text();
    std::ofstream file(argv[1]);
    write(file, dump);
    if (!file.flush()) throw std::runtime_error(std::string(argv[1]) + " cannot be written");
    return print_unexpected_failures(dump) ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace flashbook::probes
