#pragma once

#include <cstdint>
#include <type_traits>

#include "sim/simt/half.hpp"

namespace flashbook::simt {

using Bits = std::uint16_t;  ///< of a half or a bfloat16

/// Converts 8 numbers of type T: half or bfloat16. `from` is aligned to 16, `to` to 32.
template <class T>
void widen(const Bits* from, float* to) {
#ifdef __F16C__
  if constexpr (std::is_same_v<T, emulated::half>) {
    const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_store_ps(to, _mm256_cvtph_ps(bits));
  }
#endif
  for (int i = 0; i < 8; ++i) to[i] = emulated::to_float(T{from[i]});
}

}  // namespace flashbook::simt
