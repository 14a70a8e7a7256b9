#include "cuda/api/cublas.hpp"

#include <dlfcn.h>
#include <library_types.h>

#include <stdexcept>
#include <string>

namespace flashbook {
namespace {

// cuBLAS library documentation, "cuBLAS API": the parts of its C interface that are called here.
constexpr int no_transpose = 0, compute_fp32 = 68, default_algorithm = -1;
using Create = int (*)(void** handle);
using Destroy = int (*)(void* handle);
using SetStream = int (*)(void* handle, void* stream);
using SetWorkspace = int (*)(void* handle, void* workspace, std::size_t bytes);
using GemmEx = int (*)(void* handle, int trans_a, int trans_b, int m, int n, int k,
                       const void* alpha, const void* A, cudaDataType type_a, int lda,
                       const void* B, cudaDataType type_b, int ldb, const void* beta, void* C,
                       cudaDataType type_c, int ldc, int compute, int algorithm);

void* find_library() {
  for (const char* name :
       {"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

cudaDataType type_of(DType dtype) {
  return dtype == DType::fp16 ? CUDA_R_16F : dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

void check(int status, const char* what) {
  if (status != 0)
    throw std::runtime_error(std::string("cuBLAS, ") + what + ": status " + std::to_string(status));
}

class LoadedCublas : public Cublas {
 public:
  LoadedCublas(void* library, void* stream, void* workspace, std::size_t bytes)
      : library_(library) {
    check(function<Create>("cublasCreate_v2")(&handle_), "making a handle");
    check(function<SetStream>("cublasSetStream_v2")(handle_, stream), "setting the stream");
    check(function<SetWorkspace>("cublasSetWorkspace_v2")(handle_, workspace, bytes),
          "setting the workspace");
    gemm_ = function<GemmEx>("cublasGemmEx");
  }
  ~LoadedCublas() override {
    if (handle_) function<Destroy>("cublasDestroy_v2")(handle_);
  }

  void multiply(DType dtype, std::int64_t n, const void* A, const void* B, void* C) override {
    const float one = 1, zero = 0;
    const int size = static_cast<int>(n);
    const cudaDataType type = type_of(dtype);
    check(gemm_(handle_, no_transpose, no_transpose, size, size, size, &one, A, type, size, B, type,
                size, &zero, C, type, size, compute_fp32, default_algorithm),
          "multiplying");
  }

 private:
  template <class Function>
  Function function(const char* name) const {
    void* found = ::dlsym(library_, name);
    if (!found) throw std::runtime_error(std::string("cuBLAS has no ") + name);
    return reinterpret_cast<Function>(found);
  }

  void* library_;  // stays loaded
  void* handle_ = nullptr;
  GemmEx gemm_ = nullptr;
};

}  // namespace

std::unique_ptr<Cublas> load_cublas(void* stream, void* workspace, std::size_t workspace_bytes) {
  void* library = find_library();
  if (!library) return nullptr;
  return std::make_unique<LoadedCublas>(library, stream, workspace, workspace_bytes);
}

}  // namespace flashbook
