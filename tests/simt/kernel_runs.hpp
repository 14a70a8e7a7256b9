#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "tests/simt/block_sum.cuh"
#include "tests/simt/fma_forward.cuh"
#include "tests/simt/mma_forward.cuh"
#include "tests/simt/pipeline.cuh"

/// Runs of the kernels of this folder on the emulator, or of variants of them, and whether they
/// computed what they should.
namespace flashbook::emulated {

struct Outcome {
  simt::Report report;
  bool right;
};

/// Normal random numbers. Aligned as an allocation of a GPU is.
template <class T>
class Numbers {
 public:
  explicit Numbers(std::size_t n, unsigned seed = 0) : values_(n + 256 / sizeof(T)) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (T& x : values_) x = from_float<T>(seed ? normal(generator) : std::nanf(""));
    size_ = static_cast<std::ptrdiff_t>(n);
  }
  T* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    return values_.data() + (256 - address % 256) % 256 / sizeof(T);
  }
  float operator[](std::ptrdiff_t i) { return to_float(data()[i]); }
  gmem<T> view() { return {data(), size_}; }
  gmem<const T> constant() { return view(); }

 private:
  std::vector<T> values_;
  std::ptrdiff_t size_;
};

/// One row of attention over keys and values [n, d], in double precision: O and the LSE.
template <class T>
double exact_row(Numbers<T>& Q, Numbers<T>& K, Numbers<T>& V, int row, int n, int d, double scale,
                 std::vector<double>& O) {
  std::vector<double> s(static_cast<std::size_t>(n));
  double m = -INFINITY, l = 0;
  for (int j = 0; j < n; ++j) {
    double dot = 0;
    for (int c = 0; c < d; ++c) dot += double{Q[row * d + c]} * K[j * d + c];
    s[static_cast<std::size_t>(j)] = scale * dot;
    m = std::fmax(m, scale * dot);
  }
  O.assign(static_cast<std::size_t>(d), 0);
  for (const double x : s) l += std::exp(x - m);
  for (int j = 0; j < n; ++j)
    for (int c = 0; c < d; ++c)
      O[static_cast<std::size_t>(c)] +=
          std::exp(s[static_cast<std::size_t>(j)] - m) / l * V[j * d + c];
  return m + std::log(l);
}

/// Whether O and the LSE are within `tolerance` of the exact ones. NaN is not.
template <class T>
bool is_attention(Numbers<T>& Q, Numbers<T>& K, Numbers<T>& V, Numbers<T>& O, Numbers<float>& lse,
                  int N_q, int N_k, int d, double scale, double tolerance) {
  std::vector<double> exact;
  bool right = true;
  for (int i = 0; i < N_q; ++i) {
    const double exact_lse = exact_row(Q, K, V, i, N_k, d, scale, exact);
    right = right && std::abs(lse[i] - exact_lse) <= tolerance;
    for (int c = 0; c < d; ++c)
      right = right && std::abs(O[i * d + c] - exact[static_cast<std::size_t>(c)]) <= tolerance;
  }
  return right;
}

inline unsigned blocks(int n, int of) {
  return static_cast<unsigned>((n + of - 1) / of);
}

template <class T, template <class> class Parameters>
Outcome run_mma_forward(void (*kernel)(Parameters<T>), simt::Options options, int N_q, int N_k) {
  constexpr int d = mma_forward::d;
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<T> Q(q, 1), K(k, 2), V(k, 3), O(q);
  Numbers<float> lse(static_cast<std::size_t>(N_q));
  const float scale = 0.125f;
  simt::Stream stream = {options, {}};
  launch({"mma_forward",
          {blocks(N_q, mma_forward::B_r)},
          {mma_forward::threads},
          sizeof(mma_forward::Smem<T>)},
         &stream, kernel,
         Parameters<T>{Q.constant(), K.constant(), V.constant(), O.view(), lse.view(), N_q, N_k,
                       scale});
  const double tolerance = std::is_same_v<T, half> ? 2e-3 : 1.6e-2;
  return {std::move(stream.report), is_attention(Q, K, V, O, lse, N_q, N_k, d, scale, tolerance)};
}

template <class Parameters>
Outcome run_fma_forward(void (*kernel)(Parameters), simt::Options options, int N_q, int N_k) {
  constexpr int d = fma_forward::d;
  const auto q = static_cast<std::size_t>(N_q) * d, k = static_cast<std::size_t>(N_k) * d;
  Numbers<float> Q(q, 1), K(k, 2), V(k, 3), O(q), lse(static_cast<std::size_t>(N_q));
  const float scale = 0.25f;
  simt::Stream stream = {options, {}};
  launch(
      {"fma_forward",
       {blocks(N_q, fma_forward::B_r)},
       {fma_forward::B_r},
       sizeof(fma_forward::Smem)},
      &stream, kernel,
      Parameters{Q.constant(), K.constant(), V.constant(), O.view(), lse.view(), N_q, N_k, scale});
  return {std::move(stream.report), is_attention(Q, K, V, O, lse, N_q, N_k, d, scale, 1e-5)};
}

template <class Parameters>
Outcome run_block_sum(void (*kernel)(Parameters), simt::Options options,
                      bool float_atomics = true) {
  const int n = 1000;
  Numbers<float> x(n, 1), sum(1);
  sum.data()[0] = 0;
  simt::Stream stream = {options, {}};
  launch({"block_sum", {3}, {block_sum::threads}, sizeof(block_sum::Smem), float_atomics}, &stream,
         kernel, Parameters{x.constant(), sum.view(), n});
  double exact = 0;
  for (int i = 0; i < n; ++i) exact += x[i];
  return {std::move(stream.report), std::abs(sum[0] - exact) <= 1e-3};
}

template <class Parameters>
Outcome run_pipeline(void (*kernel)(Parameters), simt::Options options) {
  const int n = 7;
  Numbers<float> x(n * 32, 1), y(n * 32);
  simt::Stream stream = {options, {}};
  launch({"pipeline", {1}, {pipeline::threads}, sizeof(pipeline::Smem)}, &stream, kernel,
         Parameters{x.constant(), y.view(), n});
  bool right = true;
  for (int i = 0; i < n * 32; ++i) right = right && y[i] == x[i / 32 * 32 + 31 - i % 32];
  return {std::move(stream.report), right};
}

}  // namespace flashbook::emulated
