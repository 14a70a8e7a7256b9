/* Attention as a C interface: C99, no CUDA header, usable from C++.
 *
 * One table of functions describes an implementation. Ours are found by name (flashbook_find);
 * yours is judged by the same suite if a shared library of yours exports flashbook_plugin. What the
 * problem and the tensors mean is in docs/contract.md, how to write a plug-in in
 * docs/your_kernel.md. */
#ifndef FLASHBOOK_CUDA_API_FLASHBOOK_H
#define FLASHBOOK_CUDA_API_FLASHBOOK_H

#include <stddef.h>
#include <stdint.h>

#include "cpu_reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of the structs below. */
#define FLASHBOOK_INTERFACE_VERSION 1u

/* Room for a message, its last 0 included. */
#define FLASHBOOK_MESSAGE_SIZE 2048

/* Where an implementation's tensors and workspace lie. */
enum flashbook_memory { FLASHBOOK_HOST, FLASHBOOK_CUDA };

/* What a call returns. If it is not FLASHBOOK_OK, `message` holds one sentence that says why. */
enum flashbook_status {
  FLASHBOOK_OK,
  FLASHBOOK_REFUSED, /* the implementation does not take the problem */
  FLASHBOOK_INVALID, /* an argument breaks the contract */
  FLASHBOOK_FAILED,  /* it could not be started, or went wrong */
  FLASHBOOK_OUT_OF_MEMORY
};

/* Elements have the problem's dtype and lie as its strides say, from element (0, 0, 0, 0). A tensor
 * that the problem does not have is null. */
typedef struct flashbook_forward_tensors {
  size_t size;           /* sizeof(flashbook_forward_tensors) of the caller */
  const void *q, *k, *v; /* [B, N, H, d] or d_v */
  const void* bias;      /* broadcast to [B, H_q, N_q, N_k] */
  const void* alibi;     /* slopes, [H_q] or [members, H_q], contiguous */
  const void* sinks;     /* logits, [H_q], contiguous */
  /* Token offsets of a packed problem, [members + 1]; where the tensors lie. */
  const int64_t *cu_seqlens_q, *cu_seqlens_k;
  /* Written. */
  void* o;   /* [B, N_q, H_q, d_v] */
  void* lse; /* natural log, [B, H_q, N_q] contiguous; fp32, or fp64 for fp64 */
} flashbook_forward_tensors;

typedef struct flashbook_backward_tensors {
  size_t size; /* sizeof(flashbook_backward_tensors) of the caller */
  const void *q, *k, *v, *bias, *alibi, *sinks;
  const int64_t *cu_seqlens_q, *cu_seqlens_k;
  const void *o, *lse;  /* what a forward pass wrote */
  const void* grad_o;   /* dO, strides grad_o */
  const void* grad_lse; /* dLSE, as the LSE; null unless has_dlse */
  /* Written. */
  void *grad_q, *grad_k, *grad_v; /* strides grad_q, grad_k, grad_v */
  void* grad_bias;                /* contiguous, of the bias's own shape: summed where broadcast */
  void* grad_sinks;               /* [H_q], contiguous */
} flashbook_backward_tensors;

/* What the suite must know of an implementation's arithmetic. All zero suits most kernels. */
typedef struct flashbook_properties {
  int32_t materialised; /* 1: S, P, dP and dS are stored in the problem's dtype */
  /* NaN may reach rows that do not see it, but share with rows that do a tile of S of so many rows
   * and keys; 0: it does not. docs/contract.md, section 7. */
  int32_t nan_rows, nan_keys;
  /* 1: these gradients may differ from run to run. O and LSE never may. */
  int32_t nondeterministic_dq, nondeterministic_dkv;
  double eps_exp, eps_tanh; /* relative errors of its exp and tanh; 0: 2^-22 */
} flashbook_properties;

/* An implementation. Its functions may be called by several threads at once; `message` has room for
 * FLASHBOOK_MESSAGE_SIZE bytes or is null. They read `problem` and `tensors` before they return. */
typedef struct flashbook_implementation flashbook_implementation;
struct flashbook_implementation {
  uint32_t size;     /* sizeof(flashbook_implementation) of who fills it in */
  uint32_t version;  /* FLASHBOOK_INTERFACE_VERSION of who fills it in */
  const char* name;  /* "cuda.one_pass@gpu": up to 64 bytes, no spaces */
  const void* state; /* the implementation's own */
  int32_t memory;    /* enum flashbook_memory */
  flashbook_properties properties;

  /* FLASHBOOK_OK, or FLASHBOOK_REFUSED with the reason: the field, its value, what is accepted. The
   * problem alone decides, not the offsets of a packed one. Null: every problem is taken. */
  int (*supports_forward)(const flashbook_implementation* self, const flashbook_problem* problem,
                          char* message);
  int (*supports_backward)(const flashbook_implementation* self, const flashbook_problem* problem,
                           char* message);
  /* What a pass needs beside the tensors, in their memory, aligned to 256 bytes. Null: nothing. */
  size_t (*forward_workspace_bytes)(const flashbook_implementation* self,
                                    const flashbook_problem* problem);
  size_t (*backward_workspace_bytes)(const flashbook_implementation* self,
                                     const flashbook_problem* problem);
  /* Host memory: done on return, and `stream` is null. CUDA: started on `stream`, a cudaStream_t,
   * on the device that the tensors lie on, whichever is current; nothing waits, so that the call
   * can be captured in a graph. Writes every element of the outputs and nothing else. Null: there
   * is no such pass; not both may be. */
  int (*forward)(const flashbook_implementation* self, const flashbook_problem* problem,
                 const flashbook_forward_tensors* tensors, void* workspace, void* stream,
                 char* message);
  int (*backward)(const flashbook_implementation* self, const flashbook_problem* problem,
                  const flashbook_backward_tensors* tensors, void* workspace, void* stream,
                  char* message);
};

/* What a plug-in exports: its table, which lives as long as the library is loaded. */
const flashbook_implementation* flashbook_plugin(void);

/* Our implementations: `oracle` and `standard` in C++, and the CUDA kernels on the emulator (@cpu)
 * and, in a build with nvcc, on the GPU (@gpu). Those on the emulator take host memory; their
 * stream is null. Neither function fails: flashbook_find returns null for null, and
 * for a name there is not. */
size_t flashbook_count(void);
const flashbook_implementation* flashbook_at(size_t index); /* index < flashbook_count() */
const flashbook_implementation* flashbook_find(const char* name);

/* A problem with the names filled in: layout [B, N, H, d], fp32, scale 1/sqrt(d), no mask, no
 * option. Start here and change what differs. */
flashbook_problem flashbook_dense_problem(int64_t batch, int64_t heads_q, int64_t heads_kv,
                                          int64_t n_q, int64_t n_k, int64_t d, int64_t d_v);

#ifdef __cplusplus
}
#endif

#endif
