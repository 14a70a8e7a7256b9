#pragma once

#include <string>

#include "cpu_reference/implementation.hpp"
#include "cuda/api/flashbook.h"

namespace flashbook {

/// An Implementation as a table of the C interface, on host memory. It refers to this object, which
/// the implementation outlives.
class ExportedTable {
 public:
  explicit ExportedTable(const Implementation& implementation);
  ExportedTable(const ExportedTable&) = delete;
  ExportedTable& operator=(const ExportedTable&) = delete;

  const flashbook_implementation& table() const { return table_; }

 private:
  std::string name_;
  flashbook_implementation table_;
};

}  // namespace flashbook
