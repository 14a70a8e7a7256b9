// Your CUDA kernel without a GPU: a copy of this file, with your own code in `attention`. It is
// written in the vocabulary of cuda/isa/isa.cuh, which the emulator runs and nvcc compiles.
//
//     cp walkthrough/templates/one_warp_a_row.cpp mine.cpp
//     ./book verify --plugin mine.cpp       # the same file as mine.cu: on a GPU
#include "cuda/api/plugin.h"
#include "cuda/isa/isa.cuh"
#include "cuda/rules/softmax.cuh"

namespace flashbook::FLASHBOOK_MACHINE {

constexpr int warps = 4, tile_keys = 32, max_d = 128;

struct Smem {
  Tile<float, warps, max_d> Q;
  Tile<float, tile_keys, max_d + 1> K;  // padded: lanes read a column without bank conflicts
  Tile<float, tile_keys, max_d> V;
};

/// Contiguous [B, N, H, d] each; LSE [B, H, N_q].
struct Tensors {
  gmem<const float> q, k, v;
  gmem<float> o, lse;
};

/// The first `rows` tokens of a head; zeros behind its last token.
template <class TileOf>
FLASHBOOK_DEVICE void load(TileOf& tile, gmem<const float> from, const flashbook_problem& p,
                           int rows, int64_t tokens) {
  const int d = static_cast<int>(p.d);
  for (int at = threadIdx.x; at < rows * d; at += warps * 32) {
    const int row = at / d, c = at % d;
    float x = 0;
    if (row < tokens) x = from(row * p.heads_q * p.d + c);
    tile(row, c) = x;
  }
}

/// O = softmax(scale QK^T) V, a warp a row. Of a tile's keys each lane scores one; of O it has
/// every 32nd channel.
FLASHBOOK_KERNEL(warps * 32) attention(flashbook_problem p, Tensors t) {
  Smem& smem = shared_memory<Smem>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, d = static_cast<int>(p.d);
  const int64_t h = blockIdx.y, b = blockIdx.z, first = int64_t{blockIdx.x} * warps;
  const int64_t i = first + warp, seen = p.causal ? i + p.n_k - p.n_q + 1 : p.n_k;
  const auto at = [&](int64_t tokens, int64_t token) {
    return ((b * tokens + token) * p.heads_q + h) * p.d;
  };

  float O[max_d / 32] = {};
  RowState row;
  load(smem.Q, t.q + at(p.n_q, first), p, warps, p.n_q - first);
  for (int64_t j = 0; j < p.n_k; j += tile_keys) {
    load(smem.K, t.k + at(p.n_k, j), p, tile_keys, p.n_k - j);
    load(smem.V, t.v + at(p.n_k, j), p, tile_keys, p.n_k - j);
    sync_threads();  // Q, K and V are everybody's

    float S[1] = {};
    for (int c = 0; c < d; ++c) S[0] += smem.Q(warp, c) * smem.K(lane, c);
    const bool sees = j + lane < seen && j + lane < p.n_k;
    S[0] = sees ? static_cast<float>(p.scale) * S[0] : -INFINITY;
    const uint32_t weighs = ballot(S[0] != -INFINITY);  // the others' V may be NaN
    const float rescale = row.add<32>(S);
    for (float& o : O) o *= rescale;
    for (int key = 0; key < tile_keys; ++key) {
      const float P = shuffle(S[0], key);
      if (weighs >> key & 1)
        for (int n = 0; n * 32 + lane < d; ++n) O[n] += P * smem.V(key, n * 32 + lane);
    }
    sync_threads();  // nobody reads K and V any more
  }
  if (i >= p.n_q) return;
  for (int n = 0; n * 32 + lane < d; ++n) t.o(at(p.n_q, i) + n * 32 + lane) = row.normalised(O[n]);
  if (lane == 0) t.lse((b * p.heads_q + h) * p.n_q + i) = row.lse();
}

/// Returns what went wrong; on the emulator also what it found, such as a race.
static LaunchStatus start(const flashbook_problem& p, const flashbook_forward_tensors& t,
                          void* stream) {
  const int64_t rows = p.batch * p.heads_q * p.n_q, keys = p.batch * p.heads_q * p.n_k;
  const Tensors tensors = {{static_cast<const float*>(t.q), rows * p.d},
                           {static_cast<const float*>(t.k), keys * p.d},
                           {static_cast<const float*>(t.v), keys * p.d},
                           {static_cast<float*>(t.o), rows * p.d},
                           {static_cast<float*>(t.lse), rows}};
  const GridShape grid = {static_cast<unsigned>((p.n_q + warps - 1) / warps),
                          static_cast<unsigned>(p.heads_q), static_cast<unsigned>(p.batch)};
  return launch({"attention", grid, {warps * 32}, sizeof(Smem)}, stream, attention, p, tensors);
}

}  // namespace flashbook::FLASHBOOK_MACHINE

// Where the tensors of each machine lie.
namespace flashbook::gpu {
inline constexpr flashbook_memory memory = FLASHBOOK_CUDA;
}
namespace flashbook::emulated {
inline constexpr flashbook_memory memory = FLASHBOOK_HOST;
}

namespace machine = flashbook::FLASHBOOK_MACHINE;

static int supports(const flashbook_implementation*, const flashbook_problem* p, char* message) {
  if (p->d <= machine::max_d)
    return flashbook_takes(p, FLASHBOOK_TAKES_FP32 | FLASHBOOK_TAKES_CAUSAL | FLASHBOOK_TAKES_DLSE,
                           message);
  if (message) snprintf(message, FLASHBOOK_MESSAGE_SIZE, "d: this kernel takes at most 128");
  return FLASHBOOK_REFUSED;
}

static int forward(const flashbook_implementation*, const flashbook_problem* p,
                   const flashbook_forward_tensors* t, void*, void* stream, char* message) {
  if (p->batch * p->n_q == 0) return FLASHBOOK_OK;
  const std::string error = machine::start(*p, *t, stream).error;
  if (error.empty()) return FLASHBOOK_OK;
  snprintf(message, FLASHBOOK_MESSAGE_SIZE, "%s", error.c_str());
  return FLASHBOOK_FAILED;
}

extern "C" const flashbook_implementation* flashbook_plugin() {
  static flashbook_implementation mine = {};
  mine.size = sizeof mine;
  mine.version = FLASHBOOK_INTERFACE_VERSION;
  mine.name = "mine";
  mine.memory = machine::memory;
  mine.supports_forward = supports;
  mine.forward = forward;
  return &mine;
}
