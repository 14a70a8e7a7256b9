/* Strict C99: what a C program does with flashbook.h. c_interface_test.cpp looks at the results. */
#include "tests/api/flashbook_c99.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/api/plugin.h"

const size_t flashbook_c99_interface[] = {
    sizeof(flashbook_forward_tensors),
    offsetof(flashbook_forward_tensors, cu_seqlens_q),
    offsetof(flashbook_forward_tensors, lse),
    sizeof(flashbook_backward_tensors),
    offsetof(flashbook_backward_tensors, o),
    offsetof(flashbook_backward_tensors, grad_sinks),
    sizeof(flashbook_properties),
    offsetof(flashbook_properties, eps_exp),
    sizeof(flashbook_implementation),
    offsetof(flashbook_implementation, state),
    offsetof(flashbook_implementation, properties),
    offsetof(flashbook_implementation, supports_forward),
    offsetof(flashbook_implementation, backward),
};
const size_t flashbook_c99_interface_size =
    sizeof flashbook_c99_interface / sizeof *flashbook_c99_interface;

/* Both passes on tensors that hold sin(0), sin(1), …, laid out [B, N, H, d]; `out` gets O, LSE, dQ,
 * dK and dV one after the other. */
int run_from_c(const char* name, const flashbook_problem* p, float* out, char* message) {
  const flashbook_implementation* const attention = flashbook_find(name);
  const size_t queries = (size_t)(p->batch * p->n_q * p->heads_q);
  const size_t keys = (size_t)(p->batch * p->n_k * p->heads_kv);
  const size_t size_q = queries * (size_t)p->d, size_o = queries * (size_t)p->d_v;
  const size_t size_k = keys * (size_t)p->d, size_v = keys * (size_t)p->d_v;
  float* const in = make_inputs(size_q + size_k + size_v + size_o);
  flashbook_forward_tensors f = {0};
  flashbook_backward_tensors b = {0};
  void *workspace_f, *workspace_b;
  int status;
  if (!attention) return -1;

  f.size = sizeof f;
  f.q = in, f.k = in + size_q, f.v = in + size_q + size_k;
  f.o = out, f.lse = out + size_o;
  workspace_f = malloc(attention->forward_workspace_bytes
                           ? attention->forward_workspace_bytes(attention, p) + 1
                           : 1);
  status = attention->forward(attention, p, &f, workspace_f, NULL, message);

  b.size = sizeof b;
  b.q = f.q, b.k = f.k, b.v = f.v, b.o = f.o, b.lse = f.lse;
  b.grad_o = in + size_q + size_k + size_v;
  b.grad_q = out + size_o + queries;
  b.grad_k = (float*)b.grad_q + size_q;
  b.grad_v = (float*)b.grad_k + size_k;
  workspace_b = malloc(attention->backward_workspace_bytes
                           ? attention->backward_workspace_bytes(attention, p) + 1
                           : 1);
  if (status == FLASHBOOK_OK)
    status = attention->backward(attention, p, &b, workspace_b, NULL, message);
  free(workspace_f);
  free(workspace_b);
  free(in);
  return status;
}
