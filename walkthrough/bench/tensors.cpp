#include "walkthrough/bench/tensors.hpp"

#include <algorithm>
#include <cstring>

#include "cpu_reference/parallel.hpp"
#include "tests/conformance/random_numbers.hpp"

namespace flashbook::bench {
namespace {

std::vector<std::byte> drawn(DType dtype, std::int64_t elements, std::uint64_t stream) {
  constexpr std::int64_t chunk = 1 << 16;
  return with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * sizeof(T));
    parallel_for((elements + chunk - 1) / chunk, [&](std::int64_t n) {
      for (std::int64_t i = n * chunk; i < std::min(elements, (n + 1) * chunk); ++i) {
        const auto at = static_cast<std::uint64_t>(i);
        const T value = round_to<T>(conformance::normal(Tensors::seed, stream, at));
        std::memcpy(bytes.data() + at * sizeof(T), &value, sizeof(T));
      }
    });
    return bytes;
  });
}

}  // namespace

Tensors::Tensors(DType dtype, std::int64_t elements)
    : q_(drawn(dtype, elements, 1)),
      k_(drawn(dtype, elements, 2)),
      v_(drawn(dtype, elements, 3)),
      grad_o_(drawn(dtype, elements, 4)) {}

Inputs Tensors::inputs() const {
  return {q_.data(), k_.data(), v_.data(), nullptr, nullptr, nullptr};
}

}  // namespace flashbook::bench
