#pragma once

#include <functional>
#include <memory>

#include "cpu_reference/implementation.hpp"
#include "cuda/api/device.hpp"
#include "cuda/api/flashbook.h"

namespace flashbook {

/// Throws InputError that says what is wrong with the table: another version, no name, no function.
void check_table(const flashbook_implementation& table);

/// A table of the C interface as an Implementation. Every call copies the tensors to guarded memory
/// of a device object of its own, and throws what goes wrong, a write to what is not its own
/// included.
class TableAttention : public Implementation {
 public:
  using MakeDevice = std::function<std::unique_ptr<Device>()>;

  /// The table outlives this, and its tensors lie in the memory of what `make_device` makes. Throws
  /// InputError as check_table does.
  TableAttention(const flashbook_implementation& table, MakeDevice make_device);

  std::string name() const override { return table_.name; }
  Properties properties() const override;
  Support supports_forward(const AttentionProblem& problem) const override;
  Support supports_backward(const AttentionProblem& problem) const override;
  void forward(const AttentionProblem&, const Inputs&, const Outputs&) const override;
  void backward(const AttentionProblem&, const Inputs&, const Outputs& saved, const Cotangents&,
                const Gradients&) const override;

 private:
  const flashbook_implementation& table_;
  MakeDevice make_device_;
};

}  // namespace flashbook
