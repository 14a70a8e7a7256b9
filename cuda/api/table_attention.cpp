#include "cuda/api/table_attention.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "cpu_reference/error.hpp"
#include "cuda/api/kernel_calls.hpp"
#include "cuda/api/message.hpp"

namespace flashbook {
namespace {

/// `ask` is supports_forward or supports_backward, `run` the pass itself; either may be null.
template <class Ask, class Run>
Support support(const flashbook_implementation& table, Ask* ask, Run* run, const char* pass,
                const AttentionProblem& problem) {
  if (!run) return Support::no(std::string("there is no ") + pass + " pass");
  if (!ask) return Support::yes();
  Message message;
  const int status = ask(&table, &problem.fields(), message.room());
  if (status == FLASHBOOK_OK) return Support::yes();
  if (status != FLASHBOOK_REFUSED)
    throw std::runtime_error("asked whether it takes the problem, " + message.text(status));
  return Support::no(message.is_empty() ? "it does not say why" : message.text(status));
}

template <class Call>
void run(const Call& call, Device& device) {
  call.launch();
  device.finish();
  call.copy_back();
}

/// It stands in tables, and in lines of their own.
void check_name(const char* name) {
  constexpr std::size_t longest = 64;
  if (!name || *name == '\0') throw InputError("it has no name: set name to one");
  const std::size_t size = ::strnlen(name, longest + 1);
  if (size > longest)
    throw InputError("its name is longer than " + std::to_string(longest) +
                     " bytes: choose a shorter one");
  if (std::any_of(name, name + size, [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    throw InputError(
        "its name has a space or a control character: choose one of letters, digits, '.' and '_'");
}

}  // namespace

void check_table(const flashbook_implementation& table) {
  if (table.size == 0 && table.version == 0)
    throw InputError(
        "size and version are 0: set size to sizeof(flashbook_implementation) and version to "
        "FLASHBOOK_INTERFACE_VERSION");
  if (table.size != sizeof table || table.version != FLASHBOOK_INTERFACE_VERSION)
    throw InputError("it has size " + std::to_string(table.size) + " and version " +
                     std::to_string(table.version) + ", and this program size " +
                     std::to_string(sizeof table) + ", version " +
                     std::to_string(FLASHBOOK_INTERFACE_VERSION) +
                     ": compile it with this version of cuda/api/flashbook.h");
  check_name(table.name);
  if (table.memory != FLASHBOOK_HOST && table.memory != FLASHBOOK_CUDA)
    throw InputError("memory is " + std::to_string(table.memory) +
                     ": pass FLASHBOOK_HOST or FLASHBOOK_CUDA");
  if (!table.forward && !table.backward)
    throw InputError("forward and backward are both null: set at least one of them");
  const flashbook_properties& given = table.properties;
  if (!(given.eps_exp >= 0 && given.eps_exp < 1 && given.eps_tanh >= 0 && given.eps_tanh < 1))
    throw InputError(
        "eps_exp or eps_tanh is no relative error: pass one from 0 to 1, or 0 for 2^-22");
  if (given.nan_rows < 0 || given.nan_keys < 0 || (given.nan_rows > 0) != (given.nan_keys > 0))
    throw InputError("nan_rows and nan_keys are no tile: pass two positive sizes, or 0 for both");
}

TableAttention::TableAttention(const flashbook_implementation& table, MakeDevice make_device)
    : table_(table), make_device_(std::move(make_device)) {
  check_table(table);
}

Properties TableAttention::properties() const {
  const flashbook_properties& given = table_.properties;
  Properties properties;
  properties.materialised = given.materialised != 0;
  if (given.eps_exp > 0) properties.eps_exp = given.eps_exp;
  if (given.eps_tanh > 0) properties.eps_tanh = given.eps_tanh;
  if (given.nan_rows > 0) properties.nan_spreads_within = TileShape{given.nan_rows, given.nan_keys};
  properties.deterministic_dq = given.nondeterministic_dq == 0;
  properties.deterministic_dkv = given.nondeterministic_dkv == 0;
  return properties;
}

Support TableAttention::supports_forward(const AttentionProblem& problem) const {
  return support(table_, table_.supports_forward, table_.forward, "forward", problem);
}

Support TableAttention::supports_backward(const AttentionProblem& problem) const {
  return support(table_, table_.supports_backward, table_.backward, "backward", problem);
}

void TableAttention::forward(const AttentionProblem& problem, const Inputs& inputs,
                             const Outputs& outputs) const {
  const std::unique_ptr<Device> device = make_device_();
  run(ForwardCall(table_, problem, inputs, outputs, *device), *device);
}

void TableAttention::backward(const AttentionProblem& problem, const Inputs& inputs,
                              const Outputs& saved, const Cotangents& cotangents,
                              const Gradients& gradients) const {
  const std::unique_ptr<Device> device = make_device_();
  run(BackwardCall(table_, problem, inputs, saved, cotangents, gradients, *device), *device);
}

}  // namespace flashbook
