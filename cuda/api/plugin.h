/* What a plug-in may use beside flashbook.h. Header only: a plug-in links nothing of ours. */
#ifndef FLASHBOOK_CUDA_API_PLUGIN_H
#define FLASHBOOK_CUDA_API_PLUGIN_H

#include <stdio.h>

#include "cuda/api/flashbook.h"

/* What a problem may ask of a kernel beyond the plainest: one bit each, or-ed together for what
 * flashbook_takes is told. */
enum flashbook_option {
  FLASHBOOK_TAKES_FP16 = 1 << 0,
  FLASHBOOK_TAKES_BF16 = 1 << 1,
  FLASHBOOK_TAKES_FP32 = 1 << 2,
  FLASHBOOK_TAKES_FP64 = 1 << 3,
  FLASHBOOK_TAKES_CAUSAL = 1 << 4,
  FLASHBOOK_TAKES_TOP_LEFT = 1 << 5, /* the other alignment of causal masks, windows and ALiBi */
  FLASHBOOK_TAKES_WINDOW = 1 << 6,
  FLASHBOOK_TAKES_SOFTCAP = 1 << 7,
  FLASHBOOK_TAKES_BIAS = 1 << 8,
  FLASHBOOK_TAKES_ALIBI = 1 << 9,
  FLASHBOOK_TAKES_SINKS = 1 << 10,
  FLASHBOOK_TAKES_DLSE = 1 << 11,    /* a gradient of the LSE: a forward pass is given none */
  FLASHBOOK_TAKES_GROUPED = 1 << 12, /* fewer key/value heads than query heads */
  FLASHBOOK_TAKES_D_V = 1 << 13,     /* d_v other than d */
  FLASHBOOK_TAKES_PACKED = 1 << 14,  /* cu_seqlens */
  FLASHBOOK_TAKES_SCALE = 1 << 15,   /* 0 or negative; any positive scale is the plainest */
  FLASHBOOK_TAKES_STRIDES = 1 << 16  /* other than contiguous [B, N, H, d] */
};

static inline int flashbook_is_bnhd(const flashbook_strides* s, int64_t tokens, int64_t heads,
                                    int64_t channels) {
  return s->head == channels && s->token == heads * channels && s->batch == tokens * s->token;
}

static inline int flashbook_is_contiguous(const flashbook_problem* p) {
  return flashbook_is_bnhd(&p->q, p->n_q, p->heads_q, p->d) &&
         flashbook_is_bnhd(&p->k, p->n_k, p->heads_kv, p->d) &&
         flashbook_is_bnhd(&p->v, p->n_k, p->heads_kv, p->d_v) &&
         flashbook_is_bnhd(&p->o, p->n_q, p->heads_q, p->d_v) &&
         flashbook_is_bnhd(&p->grad_o, p->n_q, p->heads_q, p->d_v) &&
         flashbook_is_bnhd(&p->grad_q, p->n_q, p->heads_q, p->d) &&
         flashbook_is_bnhd(&p->grad_k, p->n_k, p->heads_kv, p->d) &&
         flashbook_is_bnhd(&p->grad_v, p->n_k, p->heads_kv, p->d_v);
}

/* The options that a problem uses. */
static inline uint32_t flashbook_options(const flashbook_problem* p) {
  const int is_windowed =
      p->window_left != FLASHBOOK_UNBOUNDED || p->window_right != FLASHBOOK_UNBOUNDED;
  uint32_t used = (uint32_t)FLASHBOOK_TAKES_FP16 << p->dtype;
  if (p->causal) used |= FLASHBOOK_TAKES_CAUSAL;
  if (p->alignment == FLASHBOOK_TOP_LEFT) used |= FLASHBOOK_TAKES_TOP_LEFT;
  if (is_windowed) used |= FLASHBOOK_TAKES_WINDOW;
  if (p->softcap > 0) used |= FLASHBOOK_TAKES_SOFTCAP;
  if (p->has_bias) used |= FLASHBOOK_TAKES_BIAS;
  if (p->alibi != FLASHBOOK_NO_ALIBI) used |= FLASHBOOK_TAKES_ALIBI;
  if (p->has_sinks) used |= FLASHBOOK_TAKES_SINKS;
  if (p->has_dlse) used |= FLASHBOOK_TAKES_DLSE;
  if (p->heads_q != p->heads_kv) used |= FLASHBOOK_TAKES_GROUPED;
  if (p->d != p->d_v) used |= FLASHBOOK_TAKES_D_V;
  if (p->packed) used |= FLASHBOOK_TAKES_PACKED;
  if (p->scale <= 0) used |= FLASHBOOK_TAKES_SCALE;
  if (!flashbook_is_contiguous(p)) used |= FLASHBOOK_TAKES_STRIDES;
  return used;
}

/* What the options are called, the first bit's first; null after the last. */
static inline const char* flashbook_option_name(int bit) {
  static const char* const names[] = {
      "fp16",  "bf16",  "fp32", "fp64",    "causal", "top-left", "window",   "softcap", "bias",
      "alibi", "sinks", "dlse", "grouped", "d!=dv",  "packed",   "scale<=0", "strided"};
  return bit < (int)(sizeof names / sizeof *names) ? names[bit] : NULL;
}

/* What supports_forward or supports_backward returns for a kernel that takes these options and no
 * others: an option that it does not know of is refused, and not ignored. */
static inline int flashbook_takes(const flashbook_problem* p, uint32_t taken, char* message) {
  const uint32_t missing = flashbook_options(p) & ~taken;
  int bit = 0;
  if (!missing) return FLASHBOOK_OK;
  while (!(missing >> bit & 1)) ++bit;
  if (message)
    snprintf(message, FLASHBOOK_MESSAGE_SIZE, "%s: this kernel does not take it",
             flashbook_option_name(bit));
  return FLASHBOOK_REFUSED;
}

#endif
