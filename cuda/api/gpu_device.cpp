#include "cuda/api/gpu_device.hpp"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

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

/// Seconds of the stream between two moments.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  double time(const std::function<void()>& work) const {
    check(cudaEventRecord(begin_, stream_), "recording an event");
    work();
    check(cudaEventRecord(end_, stream_), "recording an event");
    check(cudaEventSynchronize(end_), "running a kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading a time");
    return milliseconds / 1e3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Many launches that start without the host in between.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& launches) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    try {
      launches();
    } catch (...) {  // a stream that is left capturing takes no other work
      cudaStreamEndCapture(stream, &graph);
      cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "capturing");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(error, "making a graph");
  }
  ~Graph() { cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const { check(cudaGraphLaunch(graph_, stream_), "launching a graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

/// So many that a graph of them takes some 50 ms, but 20 of a fast kernel at least.
std::size_t launches_in_a_graph(double seconds_of_one) {
  const double wanted = 0.05 / std::max(seconds_of_one, 1e-6);
  return static_cast<std::size_t>(std::clamp(wanted, seconds_of_one > 0.1 ? 1.0 : 20.0, 1000.0));
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

double GpuDevice::seconds(std::span<const std::function<void()>> launches) {
  constexpr std::size_t replays = 7;
  const Stopwatch stopwatch(cuda(stream_));
  for (const auto& launch : launches) launch();
  const std::size_t count = launches_in_a_graph(stopwatch.time(launches.front()));
  const Graph graph(cuda(stream_), [&] {
    for (std::size_t i = 0; i < count; ++i) launches[i % launches.size()]();
  });
  graph.launch();  // warms up
  std::vector<double> times(replays);
  for (double& time : times)
    time = stopwatch.time([&] { graph.launch(); }) / static_cast<double>(count);
  std::nth_element(times.begin(), times.begin() + replays / 2, times.end());
  return times[replays / 2];
}

void GpuDevice::profiled(const std::function<void()>& launch) {
  check(cudaProfilerStart(), "starting the profiler");
  launch();
  finish();
  check(cudaProfilerStop(), "stopping the profiler");
}

}  // namespace flashbook
