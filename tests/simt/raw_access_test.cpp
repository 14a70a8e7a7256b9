#include <doctest/doctest.h>

#include "cuda/isa/isa.cuh"

// What must not compile on the emulator, because it would go unseen.

using namespace flashbook;
using namespace flashbook::emulated;

namespace {

template <class X>
concept Dereferences = requires(X x) {
  *x;
};
template <class X>
concept Subscripts = requires(X x) {
  x[0];
};
template <class X>
concept HasMembers = requires(X x) {
  x.operator->();
};
template <class X>
concept ShowsData = requires(X x) {
  x.data_;
}
|| requires(X x) {
  x.data();
};
template <class X, class Y>
concept Converts = requires(X x) {
  static_cast<Y>(x);
};
template <class X, class Y>
concept Assigns = requires(X x, Y y) {
  x(0) = y;
};
template <class X>
concept KeepsReference = requires(X x) {
  +x;
};  // x is a variable, not a temporary
template <class X>
concept TakesAddress = requires(X x) {
  *&x(0);
};
template <class X, class Y>
concept ChoosesOf = requires(bool b, X x, Y y) {
  b ? x(0) : y;
};
template <class X, class Y>
concept Copies = requires(X x, Y y) {
  cp_async_16(x, y);
};
template <class X>
concept LoadsMatrix = requires(X x, uint32_t (&r)[4]) {
  ldmatrix_x4(r, x);
};

template <class X>
constexpr bool is_opaque = !Dereferences<X> && !Subscripts<X> && !HasMembers<X> && !ShowsData<X>;

using FloatTile = Tile<float, 4, 8>;
using Element = decltype(gmem<const float>()(0));

static_assert(is_opaque<gmem<float>> && is_opaque<gmem<const float>>);
static_assert(is_opaque<smem_ptr<float>> && is_opaque<FloatTile>);
static_assert(!Converts<gmem<float>, float*> && !Converts<smem_ptr<float>, float*>);
static_assert(!TakesAddress<gmem<const float>>);

// An element that `auto` has kept would be read later than it seems.
static_assert(!KeepsReference<Element&> && KeepsReference<float&>);

// Of a float and an int, a float that was converted to int would come out.
static_assert(ChoosesOf<gmem<const float>, float> && !ChoosesOf<gmem<const float>, int>);
static_assert(ChoosesOf<gmem<const int>, int> && !ChoosesOf<smem_ptr<float>, int>);

// const stays, types must agree.
static_assert(Assigns<gmem<float>, float> && !Assigns<gmem<const float>, float>);
static_assert(Converts<gmem<float>, gmem<const float>> &&
              !Converts<gmem<const float>, gmem<float>>);
static_assert(Copies<smem_ptr<half>, gmem<const half>> &&
              !Copies<smem_ptr<half>, gmem<const float>>);
static_assert(LoadsMatrix<smem_ptr<half>> && !LoadsMatrix<smem_ptr<float>>);

}  // namespace

TEST_CASE("views read as values and write as elements") {
  float value = 1;
  simt::Stream stream;
  const auto kernel = +[](gmem<float> x) {
    const float before = x(0);
    x(0) += 2;
    x(0) *= before + x(0);
  };
  CHECK(launch({"kernel", {}, {}}, &stream, kernel, gmem<float>(&value, 1)).ok());
  CHECK(value == 12);
}
