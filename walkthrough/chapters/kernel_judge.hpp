// What the judges of kernels have beside those of functions.
#pragma once

#include "sim/simt/launch.hpp"
#include "walkthrough/chapters/device_array.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace flashbook::book {

/// What a launch of an answer gave.
struct KernelRun {
  simt::Report report;
  bool right;  ///< all its values
};

class KernelJudge : public Judge {
 public:
  /// Nothing must have been found; `where` names the launch, as in "5 rows of 33".
  void silent(const std::string& where, const simt::Report& report) {
    std::string complaint = where + ": ";
    if (!report.clean()) complaint += report.findings.front().text();
    if (report.findings.size() > 1)
      complaint += "    and " + std::to_string(report.findings.size() - 1) + " more\n";
    complaint.pop_back();
    require(report.clean(), complaint);
  }

  /// The same in 20 orders of warps, all of them with the right values. run(options) is a
  /// KernelRun. Returns the reports as one.
  template <class Run>
  simt::Report right_and_silent(const std::string& where, Run&& run) {
    constexpr unsigned orders = 20;
    unsigned right = 0;
    simt::Report all = simt::over_seeds(orders, {}, [&](const simt::Options& options) {
      KernelRun one = run(options);
      right += one.right;
      return std::move(one.report);
    });
    silent(where, all);
    require(right == orders, where + ": the values are right in " + std::to_string(right) + " of " +
                                 std::to_string(orders) + " orders of warps");
    return all;
  }
};

}  // namespace flashbook::book
