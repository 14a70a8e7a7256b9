/* Chapter 8's kernel: attention of a row as the formula says, with three mistakes of the kind that
 * pass a first test. */
#include <math.h>
#include <stdlib.h>

#include "cuda/api/plugin.h"

static int takes(const flashbook_implementation* self, const flashbook_problem* p, char* message) {
  (void)self;
  return flashbook_takes(p,
                         FLASHBOOK_TAKES_FP32 | FLASHBOOK_TAKES_CAUSAL | FLASHBOOK_TAKES_GROUPED |
                             FLASHBOOK_TAKES_D_V | FLASHBOOK_TAKES_SCALE,
                         message);
}

// [row]
/* O of query i, which sees the first `seen` keys; returns the LSE. Keys and values are `k` and `v`
 * elements apart; s has room for their scores. */
static float row(const flashbook_problem* p, const float* q, const float* k, const float* v,
                 int64_t seen, float* s, float* o) {
  float m = -1e4f, l = 0;
  for (int64_t j = 0; j < seen; ++j) {
    s[j] = 0;
    for (int64_t c = 0; c < p->d; ++c) s[j] += q[c] * k[j * p->k.token + c];
    s[j] /= sqrtf((float)p->d);
    if (s[j] > m) m = s[j];
  }
  for (int64_t j = 0; j < seen; ++j) l += s[j] = expf(s[j] - m);
  for (int64_t c = 0; c < p->d_v; ++c) {
    o[c] = 0;
    for (int64_t j = 0; j < seen; ++j) o[c] += s[j] / l * v[j * p->v.token + c];
  }
  return m + logf(l);
}
// [/row]

// [forward]
static int forward(const flashbook_implementation* self, const flashbook_problem* p,
                   const flashbook_forward_tensors* t, void* scores, void* stream, char* message) {
  (void)self, (void)stream, (void)message;
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t h = 0; h < p->heads_q; ++h)
      for (int64_t i = 0; i < p->n_q; ++i) {
        const int64_t g = h * p->heads_kv / p->heads_q; /* its head of K and V */
        const int64_t seen = p->causal && i + 1 < p->n_k ? i + 1 : p->n_k;
        ((float*)t->lse)[(b * p->heads_q + h) * p->n_q + i] =
            row(p, (const float*)t->q + b * p->q.batch + i * p->q.token + h * p->q.head,
                (const float*)t->k + b * p->k.batch + g * p->k.head,
                (const float*)t->v + b * p->v.batch + g * p->v.head, seen, scores,
                (float*)t->o + b * p->o.batch + i * p->o.token + h * p->o.head);
      }
  return FLASHBOOK_OK;
}
// [/forward]

static size_t scores_bytes(const flashbook_implementation* self, const flashbook_problem* p) {
  (void)self;
  return (size_t)p->n_k * sizeof(float);
}

const flashbook_implementation* flashbook_plugin(void) {
  static const flashbook_implementation mine = {.size = sizeof mine,
                                                .version = FLASHBOOK_INTERFACE_VERSION,
                                                .name = "mine",
                                                .memory = FLASHBOOK_HOST,
                                                .supports_forward = takes,
                                                .forward_workspace_bytes = scores_bytes,
                                                .forward = forward};
  return &mine;
}
