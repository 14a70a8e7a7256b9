#pragma once

#include <string>

#include "cuda/api/flashbook.h"
#include "cuda/api/machine.hpp"

namespace flashbook {

/// A pair of kernels on a machine as a table of the C interface, which refers to this object.
class KernelTable {
 public:
  KernelTable(const KernelPair& pair, Machine machine);
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  const flashbook_implementation& table() const { return table_; }
  const KernelPair& pair() const { return pair_; }
  Machine machine() const { return machine_; }

 private:
  KernelPair pair_;
  Machine machine_;
  std::string name_;
  flashbook_implementation table_;
};

}  // namespace flashbook
