#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "tests/simt/hopper_blocks.hpp"

// wgmma: every product against integers in double, and what is found wrong.

using namespace flashbook;
using namespace flashbook::emulated;
using simt::Category;

namespace {

template <class T, int n>
struct Smem {
  Tile<T, 64, 64, Swizzle128> A;
  Tile<T, n, 64, Swizzle128> B;  // stored by its transposed
  Tile<T, 64, (n + 63) / 64 * 64, Swizzle128> B_rows;
};

/// Integers, the same in every run.
float integer(int i, int j, int of) {
  return static_cast<float>((i * 7 + j * 13 + of * 5 + i * j % 11) % 17 - 8);
}

/// All elements of the tiles; everybody's, and wgmma's, afterwards.
template <class T, int n>
void fill(Smem<T, n>& smem, bool fenced = true) {
  const int t = static_cast<int>(threadIdx.x);
  for (int k = 0; k < 64; ++k) {
    if (t < 64) smem.A(t, k) = from_float<T>(integer(t, k, 1));
    for (int j = t; j < n; j += 128) {
      smem.B(j, k) = from_float<T>(integer(k, j, 2));
      smem.B_rows(k, j) = from_float<T>(integer(k, j, 2));
    }
    for (int j = n + t; j < (n + 63) / 64 * 64; j += 128) smem.B_rows(k, j) = T{};
  }
  if (fenced) fence_proxy_async();
  sync_threads();
}

/// A as the lanes hold it: rows 16 w + lane / 4 and 8 further, columns k and on.
template <class T>
void fragment(uint32_t (&a)[4], int k) {
  const int t = static_cast<int>(threadIdx.x), row = t / 32 * 16 + t % 32 / 4;
  for (int i = 0; i < 4; ++i) {
    const int r = row + i % 2 * 8, c = k + t % 4 * 2 + i / 2 * 8;
    a[i] = pack<T>(integer(r, c, 1), integer(r, c + 1, 1));
  }
}

enum class Form { shared, registers };

/// D of 64 products in k, of four wgmma, against the sum of integers.
template <class T, int n>
bool multiplies(Form form, bool transposed) {
  bool right = true;
  const simt::Report report = run_block<Smem<T, n>>(128, [&](Smem<T, n>& smem) {
    fill(smem);
    float d[n / 2];
    for (float& x : d) x = 3;
    wgmma_fence();
    for (int k = 0; k < 64; k += 16) {
      uint32_t a[4];
      fragment<T>(a, k);
      const auto A = wgmma_operand(smem.A, 0, k);
      const auto B = transposed ? wgmma_operand(smem.B_rows, k, 0) : wgmma_operand(smem.B, 0, k);
      const bool add = k > 0 || n % 16 == 0;
      if (form == Form::shared)
        transposed ? wgmma_trans<T>(d, A, B, add) : wgmma<T>(d, A, B, add);
      else
        transposed ? wgmma_trans<T>(d, a, B, add) : wgmma<T>(d, a, B, add);
    }
    wgmma_commit();
    wgmma_wait<0>(d);
    const int t = static_cast<int>(threadIdx.x);
    for (int i = 0; i < n / 2; ++i) {
      const int row = t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8,
                column = i / 4 * 8 + t % 4 * 2 + i % 2;
      double exact = n % 16 == 0 ? 3 : 0;
      for (int k = 0; k < 64; ++k) exact += double{integer(row, k, 1)} * integer(k, column, 2);
      right = right && d[i] == exact;
    }
  });
  CHECK(texts(report) == "");
  CHECK(report.total().wgmma == 4 * 4);
  CHECK(report.total().mma_flops == 2ull * 64 * n * 64);
  return right;
}

template <class T, int n>
void check_all_forms() {
  CAPTURE(n);
  for (const Form form : {Form::shared, Form::registers})
    for (const bool transposed : {false, true}) CHECK(multiplies<T, n>(form, transposed));
}

}  // namespace

TEST_CASE_TEMPLATE("integers multiply exactly, from every place and in every shape", T, half,
                   bfloat16) {
  check_all_forms<T, 8>();
  check_all_forms<T, 16>();
  check_all_forms<T, 24>();
  check_all_forms<T, 64>();
  check_all_forms<T, 88>();
  check_all_forms<T, 128>();
  check_all_forms<T, 176>();
  check_all_forms<T, 256>();
}

namespace {

using Small = Smem<half, 16>;

/// A wgmma between what `before` and `after` do.
template <class Before, class After>
simt::Report around_wgmma(Before before, After after) {
  return run_block<Small>(128, [&](Small& smem) {
    fill(smem);
    float d[8] = {};
    before(smem);
    wgmma<half>(d, wgmma_operand(smem.A, 0, 0), wgmma_operand(smem.B, 0, 0), true);
    wgmma_commit();
    after(smem, d);
  });
}

void fence(Small&) {
  wgmma_fence();
}

}  // namespace

TEST_CASE("accumulators are NaN until the wait for their group") {
  bool in_flight = true, other_done = true, done = true;
  const simt::Report report = around_wgmma(fence, [&](Small& smem, float(&d)[8]) {
    float e[8] = {};
    wgmma<half>(e, wgmma_operand(smem.A, 0, 16), wgmma_operand(smem.B, 0, 16), false);
    wgmma_commit();
    in_flight = in_flight && std::isnan(d[0]) && std::isnan(e[7]);
    wgmma_wait<1>(d);
    other_done = other_done && !std::isnan(d[0]) && std::isnan(e[7]);
    wgmma_wait<0>(e);
    done = done && !std::isnan(e[7]);
  });
  CHECK(texts(report) == "");
  CHECK(in_flight);
  CHECK(other_done);
  CHECK(done);
}

TEST_CASE("wgmma used wrongly") {
  const auto wait = [](Small&, float(&d)[8]) { wgmma_wait<0>(d); };
  CHECK(texts(around_wgmma(fence, wait)) == "");
  CHECK(finds(around_wgmma([](Small&) {}, wait), Category::race, "no wgmma_fence"));
  CHECK(finds(around_wgmma(fence,
                           [](Small& smem, float(&d)[8]) {
                             wgmma_wait<0>(d);
                             wgmma<half>(d, wgmma_operand(smem.A, 0, 0),
                                         wgmma_operand(smem.B, 0, 0), true);
                             wgmma_commit();
                             wgmma_wait<0>(d);
                           }),
              Category::race, "no wgmma_fence"));
  CHECK(finds(around_wgmma(fence, [](Small&, float(&)[8]) {}), Category::unfinished_copy,
              "wgmma that it has not waited for"));
  CHECK(finds(around_wgmma(fence,
                           [](Small& smem, float(&d)[8]) {
                             if (threadIdx.x == 5) smem.B(3, 3) = half{};
                             wgmma_wait<0>(d);
                           }),
              Category::race, "its read by a wgmma of warpgroup 0"));
  CHECK(finds(around_wgmma(
                  [](Small& smem) {
                    if (threadIdx.x == 5) smem.A(3, 3) = half{};
                    sync_threads();
                    wgmma_fence();
                  },
                  wait),
              Category::race, "no fence_proxy_async since it was written by thread 5"));
  CHECK(finds(around_wgmma(
                  [](Small& smem) {
                    if (threadIdx.x == 5) smem.A(3, 3) = half{};
                    fence_proxy_async();
                    wgmma_fence();
                  },
                  wait),
              Category::race, "no barrier since it was written by thread 5"));
  // A fence after the barrier is not told by it; a barrier of one warp tells the others nothing.
  CHECK(finds(around_wgmma(
                  [](Small& smem) {
                    if (threadIdx.x == 5) smem.A(3, 3) = half{};
                    sync_threads();
                    fence_proxy_async();
                    wgmma_fence();
                  },
                  wait),
              Category::race, "no fence_proxy_async since it was written by thread 5"));
  CHECK(finds(around_wgmma(
                  [](Small& smem) {
                    if (threadIdx.x == 5) smem.A(3, 3) = half{};
                    fence_proxy_async();
                    sync_warp();
                    wgmma_fence();
                  },
                  wait),
              Category::race, "no barrier since it was written by thread 5"));
  CHECK(finds(run_block<Small>(128,
                               [](Small&) {
                                 if (threadIdx.x >= 32) wgmma_fence();
                               }),
              Category::divergence, "warpgroup 0 never comes together"));
  CHECK(finds(run_block<Small>(64, [](Small&) { wgmma_fence(); }), Category::divergence,
              "fewer than 128"));
}

TEST_CASE("operands that no descriptor describes") {
  const auto place = [](int row, int column) {
    return run_block<Small>(128, [=](Small& smem) {
      fill(smem);
      float d[8] = {};
      wgmma_fence();
      wgmma<half>(d, wgmma_operand(smem.A, row, column), wgmma_operand(smem.B, 0, 0), false);
      wgmma_commit();
      wgmma_wait<0>(d);
    });
  };
  CHECK(texts(place(0, 48)) == "");
  CHECK(finds(place(0, 8), Category::misaligned, "multiples of 8 and 16"));
  CHECK(finds(place(4, 0), Category::misaligned, "multiples of 8 and 16"));
  CHECK(finds(place(8, 0), Category::out_of_bounds, "ends outside its tile"));
}
