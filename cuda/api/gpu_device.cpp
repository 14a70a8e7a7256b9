#include "cuda/api/gpu_device.hpp"

#include <cuda_runtime_api.h>

#include <new>
#include <stdexcept>
#include <string>

namespace flashbook {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // forgets it, unless the device is lost
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

cudaStream_t cuda(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

}  // namespace

GpuDevice::GpuDevice() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  stream_ = stream;
}

GpuDevice::~GpuDevice() {
  cudaStreamDestroy(cuda(stream_));
}

void* GpuDevice::allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocating memory");
  return memory;
}

void GpuDevice::release(void* memory) noexcept {
  cudaFree(memory);
}

void GpuDevice::copy_in(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda(stream_)), "copying in");
  finish();
}

void GpuDevice::copy_out(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cuda(stream_)), "copying out");
  finish();
}

void GpuDevice::finish() {
  check(cudaStreamSynchronize(cuda(stream_)), "running a kernel");
}

}  // namespace flashbook
