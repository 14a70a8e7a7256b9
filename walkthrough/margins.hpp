#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/suite.hpp"

namespace flashbook {

/// The largest of what was added, NaN above all; nothing if nothing was.
struct Largest {
  std::optional<double> most;

  void add(double x);
  void add(const std::optional<double>& x);
  std::string text() const;  ///< "0.67", or a dash
};

/// The largest fraction of each gate that implementations used, by dtype and output.
class MarginTables {
 public:
  void add(const conformance::CaseReport& report);

  using Gates = std::array<Largest, 3>;  ///< gates 1, 2, 3
  /// Null if no output of the implementation was judged in the dtype.
  const conformance::PerOutput<Gates>* find(const std::string& implementation, DType dtype) const;

  /// Markdown: a table for each gate, rows in the order of the names.
  std::string markdown(const std::vector<std::string>& implementations) const;

 private:
  std::map<std::pair<std::string, DType>, conformance::PerOutput<Gates>> used_;
};

}  // namespace flashbook
