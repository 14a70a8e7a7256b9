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

/// At least 20, and so many that they take 20 ms. Of a kernel that takes more than 5 ms as many as
/// take 0.1 s: beside it the few microseconds between two launches are nothing.
std::size_t launches_in_a_graph(double seconds_of_one) {
  const double one = std::max(seconds_of_one, 1e-6);
  return static_cast<std::size_t>(one > 5e-3 ? std::max(1.0, 0.1 / one)
                                             : std::clamp(0.02 / one, 20.0, 1000.0));
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

constexpr std::size_t replays = 7;

class GraphRepeats : public Repeated {
 public:
  GraphRepeats(cudaStream_t stream, const std::vector<std::function<void()>>& launches)
      : stopwatch_(stream), count_(warm_up(launches)), graph_(stream, [&] {
          for (std::size_t i = 0; i < count_; ++i) launches[i % launches.size()]();
        }) {
    graph_.launch();  // what is timed first is warm, too
  }

  /// 0.15 s: beside an 8192³ product in turn, kernels that were timed at once, and up to 0.1 s
  /// long, spread by 4 to 10 % on an H200; those one place further back by less than 1 %.
  void settle() override {
    for (double done = 0; done < 0.15;) done += seconds() * static_cast<double>(count_);
  }

  double seconds() override {
    return stopwatch_.time([&] { graph_.launch(); }) / static_cast<double>(count_);
  }

 private:
  /// Runs each once; how many a graph should hold.
  std::size_t warm_up(const std::vector<std::function<void()>>& launches) const {
    for (const auto& launch : launches) launch();
    return launches_in_a_graph(stopwatch_.time(launches.front()));
  }

  Stopwatch stopwatch_;
  std::size_t count_;
  Graph graph_;
};

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

void GpuDevice::fill(void* memory, std::byte value, std::size_t bytes) {
  check(cudaMemsetAsync(memory, std::to_integer<int>(value), bytes, cuda(stream_)), "filling");
  finish();
}

Device::Memory GpuDevice::memory() const {
  Memory memory = {};
  check(cudaMemGetInfo(&memory.free, &memory.total), "asking for memory");
  return memory;
}

std::unique_ptr<Repeated> GpuDevice::repeat(std::vector<std::function<void()>> launches) {
  return std::make_unique<GraphRepeats>(cuda(stream_), launches);
}

/// Not in a graph, whose copies are slower (2.8 instead of 4.2 TB/s on an H200).
double GpuDevice::copy_rate() {
  constexpr std::size_t bytes = std::size_t{1} << 30, copies = 20;
  const auto release_memory = [&](void* memory) { release(memory); };
  const std::unique_ptr<void, decltype(release_memory)> from(allocate(bytes), release_memory),
      to(allocate(bytes), release_memory);
  const Stopwatch stopwatch(cuda(stream_));
  std::vector<double> times(replays);
  for (double& time : times)
    time = stopwatch.time([&] {
      for (std::size_t i = 0; i < copies; ++i)
        check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, cuda(stream_)),
              "copying");
    });
  return 2.0 * bytes * copies / median(times);
}

double GpuDevice::seconds(std::span<const std::function<void()>> launches) {
  const std::unique_ptr<Repeated> repeated = repeat({launches.begin(), launches.end()});
  std::vector<double> times(replays);
  for (double& time : times) time = repeated->seconds();
  return median(times);
}

void GpuDevice::profiled(const std::function<void()>& launch) {
  check(cudaProfilerStart(), "starting the profiler");
  launch();
  finish();
  check(cudaProfilerStop(), "stopping the profiler");
}

}  // namespace flashbook
