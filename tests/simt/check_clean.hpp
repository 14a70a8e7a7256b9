#pragma once

#include <doctest/doctest.h>

#include <utility>

#include "tests/simt/kernel_runs.hpp"

namespace flashbook::emulated {

/// run(options) is right and clean in 20 orders of its warps.
template <class Run>
void check_clean(Run&& run) {
  constexpr unsigned seeds = 20;
  bool right = true;
  const simt::Report report = simt::over_seeds(seeds, {}, [&](const simt::Options& options) {
    Outcome outcome = run(options);
    right = right && outcome.right;
    return std::move(outcome.report);
  });
  CHECK(right);
  for (const simt::Finding& finding : report.findings) CHECK(finding.text() == "");
}

}  // namespace flashbook::emulated
