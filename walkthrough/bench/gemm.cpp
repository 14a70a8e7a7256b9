#include "walkthrough/bench/gemm.hpp"

#include <omp.h>

#include <chrono>

#include "cuda/api/cublas.hpp"
#include "cuda/api/device_memory.hpp"

namespace flashbook::bench {
namespace {

/// Products that wait on a device, with their matrices. N(0,1): zeros would draw less power, and so
/// run faster.
class CublasProducts : public Repeated {
 public:
  static constexpr Index n = 8192;

  CublasProducts(Device& device, DType dtype)
      : workspace_(device, "the workspace", std::size_t{64} << 20),
        A_(device, "A", bytes(dtype)),
        B_(device, "B", bytes(dtype)),
        C_(device, "C", bytes(dtype)),
        cublas_(load_cublas(device.stream(), workspace_.data(), workspace_.size())) {
    if (!cublas_) return;
    const Tensors numbers(dtype, n * n);
    device.copy_in(A_.data(), numbers.inputs().q, bytes(dtype));
    device.copy_in(B_.data(), numbers.inputs().k, bytes(dtype));
    repeated_ = device.repeat(
        {[this, dtype] { cublas_->multiply(dtype, n, A_.data(), B_.data(), C_.data()); }});
  }

  bool found() const { return cublas_ != nullptr; }
  void settle() override { repeated_->settle(); }
  double seconds() override { return repeated_->seconds(); }

 private:
  static std::size_t bytes(DType dtype) {
    return static_cast<std::size_t>(n * n * bytes_of(dtype));
  }

  DeviceMemory workspace_, A_, B_, C_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Repeated> repeated_;
};

class EigenProducts : public Repeated {
 public:
  static constexpr Index n = 1024;

  double seconds() override {
    Eigen::setNbThreads(omp_get_max_threads());
    const auto start = std::chrono::steady_clock::now();
    C_.noalias() = A_ * B_;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    Eigen::setNbThreads(1);  // as main() has it
    return passed.count();
  }

 private:
  Eigen::MatrixXf A_ = Eigen::MatrixXf::Random(n, n), B_ = Eigen::MatrixXf::Random(n, n),
                  C_ = Eigen::MatrixXf::Zero(n, n);
};

double flops_of_product(Index n) {
  return 2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

}  // namespace

Gemm cublas_gemm(Device& device, DType dtype) {
  auto products = std::make_unique<CublasProducts>(device, dtype);
  if (!products->found()) return {};
  return {std::move(products), flops_of_product(CublasProducts::n)};
}

Gemm eigen_gemm() {
  auto products = std::make_unique<EigenProducts>();
  products->seconds();  // warms up
  return {std::move(products), flops_of_product(EigenProducts::n)};
}

}  // namespace flashbook::bench
