// Your kernel on a GPU: a copy of this file, with your own code in `attention`.
//
//     cp walkthrough/templates/one_thread_a_row.cu mine.cu
//     ./book verify --plugin mine.cu
#include <cuda_runtime.h>

#include "cuda/api/plugin.h"

/// O = softmax(scale QKᵀ) V, a thread a row (b, h, i); the softmax is corrected as it goes.
__global__ void attention(flashbook_problem p, flashbook_forward_tensors t) {
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row >= p.batch * p.heads_q * p.n_q) return;
  const int64_t i = row % p.n_q, h = row / p.n_q % p.heads_q, b = row / p.n_q / p.heads_q;
  const int64_t g = h * p.heads_kv / p.heads_q;  // the key/value head that h reads
  const float* q = (const float*)t.q + b * p.q.batch + i * p.q.token + h * p.q.head;
  const float* k = (const float*)t.k + b * p.k.batch + g * p.k.head;
  const float* v = (const float*)t.v + b * p.v.batch + g * p.v.head;
  float* o = (float*)t.o + b * p.o.batch + i * p.o.token + h * p.o.head;
  const int64_t seen = p.causal ? min(max(i + p.n_k - p.n_q + 1, int64_t{0}), p.n_k) : p.n_k;

  float m = -INFINITY, l = 0;  // maximum so far, and the sum of e^(s − m)
  for (int64_t c = 0; c < p.d_v; ++c) o[c] = 0;
  for (int64_t j = 0; j < seen; ++j, k += p.k.token, v += p.v.token) {
    float s = 0;
    for (int64_t c = 0; c < p.d; ++c) s += q[c] * k[c];
    s *= (float)p.scale;
    if (s == -INFINITY) continue;  // weighs nothing
    const float m_new = s > m ? s : m, rescale = expf(m - m_new), weight = expf(s - m_new);
    for (int64_t c = 0; c < p.d_v; ++c) o[c] = rescale * o[c] + weight * v[c];
    l = rescale * l + weight;
    m = m_new;
  }
  for (int64_t c = 0; c < p.d_v && l != 0; ++c) o[c] /= l;  // an empty row stays 0
  ((float*)t.lse)[row] = m + logf(l);
}

static int supports(const flashbook_implementation*, const flashbook_problem* p, char* message) {
  return flashbook_takes(p,
                         FLASHBOOK_TAKES_FP32 | FLASHBOOK_TAKES_CAUSAL | FLASHBOOK_TAKES_GROUPED |
                             FLASHBOOK_TAKES_D_V | FLASHBOOK_TAKES_SCALE | FLASHBOOK_TAKES_STRIDES |
                             FLASHBOOK_TAKES_DLSE,
                         message);
}

static int forward(const flashbook_implementation*, const flashbook_problem* p,
                   const flashbook_forward_tensors* t, void*, void* stream, char* message) {
  const int64_t rows = p->batch * p->heads_q * p->n_q;
  if (rows == 0) return FLASHBOOK_OK;
  attention<<<(rows + 127) / 128, 128, 0, (cudaStream_t)stream>>>(*p, *t);
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return FLASHBOOK_OK;
  snprintf(message, FLASHBOOK_MESSAGE_SIZE, "attention: %s", cudaGetErrorString(error));
  return FLASHBOOK_FAILED;
}

extern "C" const flashbook_implementation* flashbook_plugin() {
  static flashbook_implementation mine = {};
  mine.size = sizeof mine;
  mine.version = FLASHBOOK_INTERFACE_VERSION;
  mine.name = "mine";
  mine.memory = FLASHBOOK_CUDA;
  mine.supports_forward = supports;
  mine.forward = forward;
  return &mine;
}
