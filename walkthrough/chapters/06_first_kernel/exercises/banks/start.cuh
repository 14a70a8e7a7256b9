#pragma once

/// Wavefronts of a warp whose lane i reads the float at i * stride.
inline int wavefronts(int stride) {
  return stride == 1 ? 1 : 32;
}

/// The fewest floats to pad a row of `columns` floats with.
inline int padding(int columns) {
  return columns % 32 == 0 ? 4 : 0;
}
