// The two parts of a receipt, from what `verify` and `bench` found on a GPU.
#pragma once

#include <optional>

#include "tests/conformance/suite.hpp"
#include "walkthrough/bench/bench.hpp"
#include "walkthrough/receipts/receipts.hpp"

namespace flashbook::receipts {

/// The cases of all pairs that a kernel is in, counted by how they ended, and the largest fraction
/// of each gate for each dtype and output of its pass. Nothing if there are none, or one failed.
std::optional<Json> verify_part(const std::string& kernel, std::span<const KernelPair> pairs,
                                const std::vector<conformance::CaseReport>& reports);

/// The rows of a kernel. Nothing if none was timed on a GPU, or a result was wrong.
std::optional<Json> bench_part(const std::string& kernel, const std::vector<bench::Row>& rows);

/// Writes a part for every kernel that has one; the names of those that have not.
template <class MakePart>
std::vector<std::string> write_parts(const std::filesystem::path& folder, const std::string& part,
                                     const KernelBuilds& builds, const Gpu& gpu,
                                     const MakePart& make_part) {
  std::vector<std::string> without;
  for (const std::string& kernel : kernel_names()) {
    const std::optional<Json> content = make_part(kernel);
    if (content)
      write_part(folder, kernel, part, *content, builds, gpu);
    else
      without.push_back(kernel);
  }
  return without;
}

}  // namespace flashbook::receipts
