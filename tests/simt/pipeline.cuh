// A warp that produces and a warp that consumes, with two buffers between them and a numbered
// barrier for each direction of each buffer. Reverses n groups of 32 numbers.
#pragma once

#include "cuda/isa/isa.cuh"

namespace flashbook::FLASHBOOK_MACHINE::pipeline {

constexpr int threads = 64, stages = 2;

struct Parameters {
  gmem<const float> x;  // [n, 32]
  gmem<float> y;        // [n, 32]
  int n;
};

struct Smem {
  Tile<float, stages, 32> buffer;
};

FLASHBOOK_DEVICE int full(int stage) {
  return 1 + stage;
}
FLASHBOOK_DEVICE int empty(int stage) {
  return 1 + stages + stage;
}

FLASHBOOK_KERNEL(threads) reverse(const Parameters p) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int j = 0; j < p.n; ++j) {
      const int stage = j % stages;
      if (j >= stages) barrier_sync(empty(stage), threads);  // its last contents have been read
      smem.buffer(stage, lane) = p.x(j * 32 + lane);
      barrier_arrive(full(stage), threads);
    }
  } else {
    for (int j = 0; j < p.n; ++j) {
      const int stage = j % stages;
      barrier_sync(full(stage), threads);  // the producer has written it
      p.y(j * 32 + lane) = smem.buffer(stage, 31 - lane);
      if (j + stages < p.n) barrier_arrive(empty(stage), threads);
    }
  }
}

}  // namespace flashbook::FLASHBOOK_MACHINE::pipeline
