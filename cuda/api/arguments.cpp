#include "cuda/api/arguments.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>

#include "cpu_reference/element_types.hpp"
#include "cpu_reference/error.hpp"
#include "cuda/api/machine.hpp"

namespace flashbook {
namespace {

constexpr std::int64_t most_members = std::int64_t{1} << 24;  // whose offsets are copied

std::vector<std::int64_t> offsets(const flashbook_problem& p, const std::int64_t* given,
                                  std::int64_t tokens) {
  if (!p.packed || p.members < 0) return {};
  if (p.members > most_members)
    throw InputError("members is " + std::to_string(p.members) + ": pass at most " +
                     std::to_string(most_members));
  const auto members = static_cast<std::size_t>(p.members);
  if (given) return {given, given + members + 1};
  std::vector<std::int64_t> last_has_all(members + 1, 0);
  if (members > 0) last_has_all.back() = tokens;
  return last_has_all;
}

void require(bool there, const char* name) {
  if (!there)
    throw InputError(std::string(name) +
                     " is null, and the problem has one: pass its first element");
}

/// On a GPU such an address would cost the whole context.
void check_aligned(std::initializer_list<NamedPointer> tensors, std::int64_t bytes) {
  for (const NamedPointer& each : tensors)
    if (reinterpret_cast<std::uintptr_t>(each.data) % static_cast<std::uintptr_t>(bytes) != 0)
      throw InputError(std::string(each.name) + " is no multiple of the " + std::to_string(bytes) +
                       " bytes of its elements: pass the address of an element");
}

std::int64_t lse_bytes(const flashbook_problem& p) {
  return p.dtype == FLASHBOOK_FP64 ? sizeof(double) : sizeof(float);
}

void check_size(std::size_t size, std::size_t expected, const char* name) {
  if (size != expected)
    throw InputError(std::string(name) + ".size is " + std::to_string(size) +
                     ": this library's has " + std::to_string(expected) +
                     " bytes; set it to sizeof, and compile with this version of " +
                     "cuda/api/flashbook.h");
}

/// What both passes read.
template <class Tensors>
void check_inputs(const flashbook_problem& p, const Tensors& t) {
  const bool has_queries = p.batch > 0 && p.n_q > 0, has_keys = p.batch > 0 && p.n_k > 0;
  require(t.q || !has_queries, "q");
  require(t.k || !has_keys, "k");
  require(t.v || !has_keys, "v");
  require(t.bias || !p.has_bias || !has_queries || !has_keys, "bias");
  require(t.alibi || p.alibi == FLASHBOOK_NO_ALIBI || p.members == 0, "alibi");
  require(t.sinks || !p.has_sinks, "sinks");
  require(t.cu_seqlens_q || !p.packed, "cu_seqlens_q");
  require(t.cu_seqlens_k || !p.packed, "cu_seqlens_k");
  check_aligned({{"q", t.q},
                 {"k", t.k},
                 {"v", t.v},
                 {"bias", t.bias},
                 {"alibi", t.alibi},
                 {"sinks", t.sinks},
                 {"o", t.o}},
                bytes_of(static_cast<DType>(p.dtype)));
  check_aligned({{"lse", t.lse}}, lse_bytes(p));
  check_aligned({{"cu_seqlens_q", t.cu_seqlens_q}, {"cu_seqlens_k", t.cu_seqlens_k}},
                sizeof(std::int64_t));
}

}  // namespace

AttentionProblem checked_problem(const flashbook_problem* problem, const std::int64_t* cu_seqlens_q,
                                 const std::int64_t* cu_seqlens_k) {
  if (!problem) throw InputError("problem is null: pass a flashbook_problem");
  check_size(problem->size, sizeof *problem, "problem");
  return AttentionProblem(*problem, offsets(*problem, cu_seqlens_q, problem->n_q),
                          offsets(*problem, cu_seqlens_k, problem->n_k));
}

void check_tensors(const flashbook_problem& p, const flashbook_forward_tensors* t) {
  if (!t) throw InputError("tensors is null: pass a flashbook_forward_tensors");
  check_size(t->size, sizeof *t, "tensors");
  check_inputs(p, *t);
  const bool has_queries = p.batch > 0 && p.n_q > 0;
  require(t->o || !has_queries, "o");
  require(t->lse || !has_queries, "lse");
}

void check_tensors(const flashbook_problem& p, const flashbook_backward_tensors* t) {
  if (!t) throw InputError("tensors is null: pass a flashbook_backward_tensors");
  check_size(t->size, sizeof *t, "tensors");
  check_inputs(p, *t);
  const bool has_queries = p.batch > 0 && p.n_q > 0, has_keys = p.batch > 0 && p.n_k > 0;
  require(t->o || !has_queries, "o");
  require(t->lse || !has_queries, "lse");
  require(t->grad_o || !has_queries, "grad_o");
  require(t->grad_lse || !p.has_dlse || !has_queries, "grad_lse");
  require(t->grad_q || !has_queries, "grad_q");
  require(t->grad_k || !has_keys, "grad_k");
  require(t->grad_v || !has_keys, "grad_v");
  require(t->grad_bias || !p.has_bias || !has_queries || !has_keys, "grad_bias");
  require(t->grad_sinks || !p.has_sinks, "grad_sinks");
  check_aligned({{"grad_o", t->grad_o},
                 {"grad_q", t->grad_q},
                 {"grad_k", t->grad_k},
                 {"grad_v", t->grad_v},
                 {"grad_bias", t->grad_bias},
                 {"grad_sinks", t->grad_sinks}},
                bytes_of(static_cast<DType>(p.dtype)));
  check_aligned({{"grad_lse", t->grad_lse}}, lse_bytes(p));
}

}  // namespace flashbook
