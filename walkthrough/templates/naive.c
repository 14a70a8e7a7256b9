/* Your kernel on the CPU: a copy of this file, with your own code in `forward`.
 *
 *     cp walkthrough/templates/naive.c mine.c
 *     ./book verify --plugin mine.c */
#include <math.h>

#include "cuda/api/plugin.h"

/* Every other option is refused by name. Add one here when your kernel honours it. */
static int supports(const flashbook_implementation* self, const flashbook_problem* p,
                    char* message) {
  (void)self;
  return flashbook_takes(p,
                         FLASHBOOK_TAKES_FP32 | FLASHBOOK_TAKES_CAUSAL | FLASHBOOK_TAKES_GROUPED |
                             FLASHBOOK_TAKES_D_V | FLASHBOOK_TAKES_SCALE | FLASHBOOK_TAKES_STRIDES |
                             FLASHBOOK_TAKES_DLSE,
                         message);
}

/* O = softmax(scale QK^T) V of one row; returns its LSE. The softmax is corrected as it goes. */
static float one_row(const flashbook_problem* p, const float* q, const float* k, const float* v,
                     int64_t n_k, float* o) {
  float m = -INFINITY, l = 0; /* maximum so far, and the sum of e^(s - m) */
  for (int64_t c = 0; c < p->d_v; ++c) o[c] = 0;
  for (int64_t j = 0; j < n_k; ++j, k += p->k.token, v += p->v.token) {
    float s = 0;
    for (int64_t c = 0; c < p->d; ++c) s += q[c] * k[c];
    s *= (float)p->scale;
    if (s == -INFINITY) continue; /* weighs nothing */
    const float m_new = s > m ? s : m, rescale = expf(m - m_new), weight = expf(s - m_new);
    for (int64_t c = 0; c < p->d_v; ++c) o[c] = rescale * o[c] + weight * v[c];
    l = rescale * l + weight;
    m = m_new;
  }
  for (int64_t c = 0; c < p->d_v && l != 0; ++c) o[c] /= l; /* an empty row stays 0 */
  return m + logf(l);
}

static int forward(const flashbook_implementation* self, const flashbook_problem* p,
                   const flashbook_forward_tensors* t, void* workspace, void* stream,
                   char* message) {
  (void)self, (void)workspace, (void)stream, (void)message;
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t h = 0; h < p->heads_q; ++h)
      for (int64_t i = 0; i < p->n_q; ++i) {
        const int64_t g = h * p->heads_kv / p->heads_q; /* the key/value head that h reads */
        int64_t seen = p->causal ? i + p->n_k - p->n_q + 1 : p->n_k;
        seen = seen < 0 ? 0 : seen > p->n_k ? p->n_k : seen;
        ((float*)t->lse)[(b * p->heads_q + h) * p->n_q + i] =
            one_row(p, (const float*)t->q + b * p->q.batch + i * p->q.token + h * p->q.head,
                    (const float*)t->k + b * p->k.batch + g * p->k.head,
                    (const float*)t->v + b * p->v.batch + g * p->v.head, seen,
                    (float*)t->o + b * p->o.batch + i * p->o.token + h * p->o.head);
      }
  return FLASHBOOK_OK;
}

static const flashbook_implementation mine = {.size = sizeof mine,
                                              .version = FLASHBOOK_INTERFACE_VERSION,
                                              .name = "mine",
                                              .memory = FLASHBOOK_HOST,
                                              .supports_forward = supports,
                                              .forward = forward};

const flashbook_implementation* flashbook_plugin(void) {
  return &mine;
}
