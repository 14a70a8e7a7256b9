// Who is meant by `bench --impl`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/api/machine.hpp"
#include "walkthrough/bench/contestant.hpp"

namespace flashbook::bench {

/// "one_pass,torch.*": names with * and ?. A kernel's may lack `cuda.` and its machine. What `list`
/// calls cuda.tensor_core is a pair: backward its name stands for its backward kernel.
class Names {
 public:
  Names(const std::string& globs, std::span<const KernelPair> pairs);

  Wanted wanted(Pass pass) const;
  /// Throws InputError that lists `all`, the contestants of some passes, and `peers` if there are
  /// any, for a name that none of them has. Names of peers are known when they are asked.
  void check(const std::vector<std::pair<Pass, std::string>>& all, bool has_peers) const;

 private:
  bool fits(const std::string& glob, Pass pass, const std::string& impl) const;

  std::vector<std::string> globs_;
  std::span<const KernelPair> pairs_;
};

/// The kernels that compute a pass, each once: "cuda.three_kernel@gpu".
std::vector<std::string> kernel_names(std::span<const KernelPair> pairs, Pass pass,
                                      Machine machine);

}  // namespace flashbook::bench
