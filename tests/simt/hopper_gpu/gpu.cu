#include "tests/simt/cluster_ring.cuh"
#include "tests/simt/hopper_forward.cuh"
#include "tests/simt/hopper_gpu/launchers.hpp"

namespace flashbook::gpu {
namespace {

/// A copy of a vector on the device, of other elements of the same size.
template <class T>
class DeviceCopy {
 public:
  template <class U>
  explicit DeviceCopy(const std::vector<U>& host) : size_(host.size()) {
    static_assert(sizeof(T) == sizeof(U));
    cudaMalloc(&data_, size_ * sizeof(T));
    cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  DeviceCopy(const DeviceCopy&) = delete;
  ~DeviceCopy() { cudaFree(data_); }
  gmem<T> view() const { return gmem<T>(data_, static_cast<std::ptrdiff_t>(size_)); }
  template <class U>
  void download(std::vector<U>& host) const {
    cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

template <int d>
LaunchStatus run_forward(const DeviceCopy<half>& Q, const DeviceCopy<half>& K,
                         const DeviceCopy<half>& V, float scale, const DeviceCopy<half>& O,
                         const DeviceCopy<float>& lse, int N_q, int N_k) {
  return hopper_forward::launch_forward<half, d>(hopper_forward::forward<half, d>, Q.view(),
                                                 K.view(), V.view(), O.view(), lse.view(), N_q, N_k,
                                                 scale, nullptr);
}

}  // namespace

bool is_hopper_present() {
  int devices = 0, major = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major == 9;
}

LaunchStatus run_hopper_forward(int d, const std::vector<std::uint16_t>& Q,
                                const std::vector<std::uint16_t>& K,
                                const std::vector<std::uint16_t>& V, float scale,
                                std::vector<std::uint16_t>& O, std::vector<float>& lse) {
  const DeviceCopy<half> Q_gmem(Q), K_gmem(K), V_gmem(V), O_gmem(O);
  const DeviceCopy<float> lse_gmem(lse);
  const int N_q = static_cast<int>(Q.size()) / d, N_k = static_cast<int>(K.size()) / d;
  const auto run = d == 64 ? run_forward<64> : run_forward<128>;
  LaunchStatus status = run(Q_gmem, K_gmem, V_gmem, scale, O_gmem, lse_gmem, N_q, N_k);
  if (status.ok()) status = synchronize(nullptr);
  O_gmem.download(O);
  lse_gmem.download(lse);
  return status;
}

LaunchStatus run_cluster_ring(const std::vector<float>& x, int n, std::vector<float>& y) {
  const DeviceCopy<float> x_gmem(x), y_gmem(y);
  LaunchStatus status = cluster_ring::start_add_rows(cluster_ring::add_rows, x_gmem.view(),
                                                     y_gmem.view(), n, nullptr);
  if (status.ok()) status = synchronize(nullptr);
  y_gmem.download(y);
  return status;
}

}  // namespace flashbook::gpu
