#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "sim/simt/multiprocessor.hpp"
#include "sim/simt/tensor_map.hpp"
#include "sim/simt/widen.hpp"

namespace flashbook::simt {
namespace {

using Product = WgmmaQueue::Product;
using Accumulators = WgmmaQueue::Accumulators;

constexpr unsigned M = 64, K = 16, most_n = 256;

/// Where accumulator i of thread t lies in D: PTX ISA, "Register Fragments and Shared Memory Matrix
/// Layouts" of wgmma.mma_async.m64nNk16.
struct Place {
  unsigned row, column;
};
constexpr Place place_of(unsigned t, unsigned i) {
  return {t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2};
}

template <class F>
void for_each_accumulator(Accumulators& D, F&& f) {
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned i = 0; i < D.n / 2; ++i) {
      const auto [row, column] = place_of(t, i);
      f(D.registers[t][i], D.values[row * D.n + column]);
    }
}

// ---- operands as fp32

/// One vector register where there are such; g++ and clang split it elsewhere.
using Row8 [[gnu::vector_size(32)]] = float;

struct Operands {
  alignas(32) float A[M][K];
  Row8 B[K][most_n / 8];

  float* B_at(unsigned k, unsigned j) { return reinterpret_cast<float*>(&B[k][0]) + j; }
};

const std::byte* chunk(const WgmmaMatrix& m, std::size_t linear) {
  return m.tile.begin + swizzled(m.start + linear, 128);
}

template <class T>
void widen_chunk(const std::byte* from, float* to) {
  alignas(16) Bits bits[8];
  std::memcpy(bits, from, sizeof bits);
  widen<T>(bits, to);
}

template <class T>
void read_A(const Product& p, Operands& x) {
  if (!p.A_in_registers) {
    for (unsigned i = 0; i < M; ++i)
      for (unsigned k = 0; k < K; k += 8)
        widen_chunk<T>(chunk(p.A, i * std::size_t{128} + k * 2), &x.A[i][k]);
    return;
  }
  for (unsigned t = 0; t < 128; ++t)
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint32_t word = p.A_rmem[t * 4 + i / 2];
      const unsigned row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const unsigned column = i / 4 * 8 + t % 4 * 2 + i % 2;
      x.A[row][column] = emulated::to_float(T{static_cast<Bits>(i % 2 ? word >> 16 : word)});
    }
}

template <class T>
void read_B(const Product& p, unsigned n, Operands& x) {
  if (p.B_transposed) {
    for (unsigned k = 0; k < K; ++k)
      for (unsigned j = 0; j < n; j += 8)
        widen_chunk<T>(
            chunk(p.B, j / 64 * std::size_t{p.B.leading} + k * std::size_t{128} + j % 64 * 2),
            x.B_at(k, j));
    return;
  }
  for (unsigned j = 0; j < n; ++j) {
    alignas(32) float column[K];
    for (unsigned k = 0; k < K; k += 8)
      widen_chunk<T>(chunk(p.B, j * std::size_t{128} + k * 2), &column[k]);
    for (unsigned k = 0; k < K; ++k) *x.B_at(k, j) = column[k];
  }
}

// ---- the product

/// D += A B, in two sums an element: they need not wait for each other.
void multiply_add(const Operands& x, Accumulators& D) {
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < D.n; j += 8) {
      float* const d = &D.values[i * D.n + j];
      Row8 even, odd = {};
      std::memcpy(&even, d, sizeof even);
      for (unsigned k = 0; k < K; k += 2) {
        even += x.A[i][k] * x.B[k][j / 8];
        odd += x.A[i][k + 1] * x.B[k + 1][j / 8];
      }
      even += odd;
      std::memcpy(d, &even, sizeof even);
    }
}

template <class T>
void execute(const Product& p) {
  Operands x;
  read_A<T>(p, x);
  read_B<T>(p, p.D->n, x);
  if (!p.accumulate) std::fill(p.D->values.begin(), p.D->values.end(), 0.f);
  multiply_add(x, *p.D);
}

void record(Event::Kind kind, const WgmmaMatrix& B, SiteId site) {
  sm->record({kind, this_thread->index / 128 * 128, site, 0,
              static_cast<std::uint32_t>(B.tile.begin - sm->shared())});
}

}  // namespace

void WgmmaQueue::clear() {
  products_.clear();
  groups_.clear();
  under_way_.clear();
  engine = 0;
  clock = 0;
}

std::shared_ptr<Accumulators> WgmmaQueue::accumulators(const std::array<float*, 128>& registers,
                                                       unsigned n) {
  for (const auto& D : under_way_)
    if (D->registers == registers && D->n == n) return D;
  auto D = std::make_shared<Accumulators>();
  *D = {registers, n, std::vector<float>(std::size_t{M} * n), 0};
  for_each_accumulator(*D, [](float& in_register, float& value) {
    value = std::exchange(in_register, std::numeric_limits<float>::quiet_NaN());
  });
  under_way_.push_back(D);
  return D;
}

void WgmmaQueue::add(Product product, SiteId site) {
  if (products_.empty()) site_ = site;
  record(Event::Kind::multiply, product.B, site);
  ++product.D->under_way;
  products_.push_back(std::move(product));
}

void WgmmaQueue::commit() {
  groups_.push_back({products_.size(), clock});
  clock = 0;
}

std::uint32_t WgmmaQueue::wait_group(std::size_t newest) {
  std::uint32_t last = 0;
  while (groups_.size() > newest) {
    const Group group = groups_.front();
    groups_.pop_front();
    for (std::size_t i = 0; i < group.end; ++i) {
      const Product& p = products_.front();
      p.type == WgmmaType::fp16 ? execute<emulated::half>(p) : execute<emulated::bfloat16>(p);
      record(Event::Kind::product, p.B, 0);
      if (--p.D->under_way == 0) {
        for_each_accumulator(*p.D, [](float& in_register, float value) { in_register = value; });
        std::erase(under_way_, p.D);
      }
      products_.pop_front();
    }
    for (Group& later : groups_) later.end -= group.end;
    last = std::max(last, group.clock);
  }
  return last;
}

}  // namespace flashbook::simt
