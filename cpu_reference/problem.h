/* One attention problem: sizes, strides and options, and no data. Plain C99 without pointers, so
 * that every room, C programs and GPU kernels included, can read the same struct.
 * docs/contract.md says what each field means for the result; AttentionProblem checks them. */
#ifndef FLASHBOOK_CPU_REFERENCE_PROBLEM_H
#define FLASHBOOK_CPU_REFERENCE_PROBLEM_H

#include <stdint.h>

#define FLASHBOOK_PROBLEM_VERSION 1u

/* A window side without a limit. It is a value of its own: a negative side is the number it is. */
#define FLASHBOOK_UNBOUNDED INT64_MAX

/* Type of every tensor but the LSE and its gradient, which are fp32 (fp64 for fp64). */
enum flashbook_dtype { FLASHBOOK_FP16, FLASHBOOK_BF16, FLASHBOOK_FP32, FLASHBOOK_FP64 };

/* Query row i's diagonal key: i + N_k - N_q (bottom-right, may be negative) or i (top-left). */
enum flashbook_alignment { FLASHBOOK_BOTTOM_RIGHT, FLASHBOOK_TOP_LEFT };

/* ALiBi slopes: none, one a query head [H_q], or one a member and query head [B, H_q]. */
enum flashbook_alibi { FLASHBOOK_NO_ALIBI, FLASHBOOK_ALIBI_H, FLASHBOOK_ALIBI_BH };

/* In elements. The last dimension is contiguous. */
typedef struct flashbook_strides {
  int64_t batch, token, head;
} flashbook_strides;

typedef struct flashbook_problem {
  uint32_t size;    /* sizeof(flashbook_problem) of the caller */
  uint32_t version; /* FLASHBOOK_PROBLEM_VERSION */

  int32_t dtype;     /* enum flashbook_dtype */
  int32_t alignment; /* enum flashbook_alignment: of the causal mask, the window and ALiBi */
  int32_t causal;    /* 1: keys right of the diagonal are hidden */
  int32_t packed;    /* 1: batch is 1 and cu_seqlens cut its tokens into `members` sequences */
  int32_t has_bias;  /* 1: an additive bias is given */
  int32_t alibi;     /* enum flashbook_alibi */
  int32_t has_sinks; /* 1: one sink logit a query head [H_q] */
  int32_t has_dlse;  /* 1: the backward pass is given a gradient of the LSE */

  int64_t batch;             /* B */
  int64_t members;           /* sequences: batch when dense */
  int64_t n_q, n_k;          /* tokens a batch entry: N_q, N_k */
  int64_t heads_q, heads_kv; /* H_q, a multiple of H_kv */
  int64_t d, d_v;            /* head dimension of Q and K; of V and O */

  flashbook_strides q, k, v, o, grad_o, grad_q, grad_k, grad_v;
  int64_t bias_shape[4];   /* batch, head, query, key: each 1 or the full size */
  int64_t bias_strides[4]; /* the gradient of the bias is contiguous in bias_shape */

  double scale;                      /* of q.k; any finite number */
  double softcap;                    /* 0: none */
  int64_t window_left, window_right; /* keys left and right of the diagonal, inclusive */
} flashbook_problem;

#endif
