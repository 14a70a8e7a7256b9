#include "cuda/api/exported.hpp"

#include "cuda/api/arguments.hpp"
#include "cuda/api/status.hpp"

namespace flashbook {
namespace {

const Implementation& object(const flashbook_implementation* self) {
  return *static_cast<const Implementation*>(self->state);
}

void check_taken(const Support& support) {
  if (!support) throw StatusError(FLASHBOOK_REFUSED, support.reason());
}

int supports_forward(const flashbook_implementation* self, const flashbook_problem* problem,
                     char* message) {
  return status_of(message,
                   [&] { check_taken(object(self).supports_forward(checked_problem(problem))); });
}

int supports_backward(const flashbook_implementation* self, const flashbook_problem* problem,
                      char* message) {
  return status_of(message,
                   [&] { check_taken(object(self).supports_backward(checked_problem(problem))); });
}

template <class Tensors>
Inputs inputs_of(const Tensors& t) {
  return {t.q, t.k, t.v, t.bias, t.alibi, t.sinks};
}

int forward(const flashbook_implementation* self, const flashbook_problem* problem,
            const flashbook_forward_tensors* t, void*, void*, char* message) {
  return status_of(message, [&] {
    check_taken(object(self).supports_forward(checked_problem(problem)));
    check_tensors(*problem, t);
    object(self).forward(checked_problem(problem, t->cu_seqlens_q, t->cu_seqlens_k), inputs_of(*t),
                         {t->o, t->lse});
  });
}

int backward(const flashbook_implementation* self, const flashbook_problem* problem,
             const flashbook_backward_tensors* t, void*, void*, char* message) {
  return status_of(message, [&] {
    check_taken(object(self).supports_backward(checked_problem(problem)));
    check_tensors(*problem, t);
    const Outputs saved = {const_cast<void*>(t->o), const_cast<void*>(t->lse)};  // only read
    object(self).backward(checked_problem(problem, t->cu_seqlens_q, t->cu_seqlens_k), inputs_of(*t),
                          saved, {t->grad_o, t->grad_lse},
                          {t->grad_q, t->grad_k, t->grad_v, t->grad_bias, t->grad_sinks});
  });
}

flashbook_properties properties_of(const Implementation& implementation) {
  const Properties given = implementation.properties();
  flashbook_properties properties = {};
  properties.materialised = given.materialised;
  if (given.nan_spreads_within) {
    properties.nan_rows = static_cast<std::int32_t>(given.nan_spreads_within->rows);
    properties.nan_keys = static_cast<std::int32_t>(given.nan_spreads_within->columns);
  }
  properties.nondeterministic_dq = !given.deterministic_dq;
  properties.nondeterministic_dkv = !given.deterministic_dkv;
  properties.eps_exp = given.eps_exp;
  properties.eps_tanh = given.eps_tanh;
  return properties;
}

}  // namespace

ExportedTable::ExportedTable(const Implementation& implementation)
    : name_(implementation.name()), table_{} {
  table_.size = sizeof table_;
  table_.version = FLASHBOOK_INTERFACE_VERSION;
  table_.name = name_.c_str();
  table_.state = &implementation;
  table_.memory = FLASHBOOK_HOST;
  table_.properties = properties_of(implementation);
  table_.supports_forward = supports_forward;
  table_.supports_backward = supports_backward;
  table_.forward = forward;
  table_.backward = backward;
}

}  // namespace flashbook
