#pragma once

#include <string>
#include <vector>

#include "tests/simt/hopper_runs.hpp"
#include "tests/simt/rung_runs.hpp"

namespace flashbook::emulated {

/// A kernel with a planted bug; seed_bugs.py makes the table.
struct Bug {
  std::string name;
  std::string category;  ///< an enumerator of simt::Category, or "wrong" or "conflicts"
  std::string place;     ///< file:line that the report must name
  Outcome (*run)(simt::Options);
};

const std::vector<Bug>& bugs();

}  // namespace flashbook::emulated
