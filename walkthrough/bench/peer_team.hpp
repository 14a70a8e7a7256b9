#pragma once

#include <filesystem>

#include "walkthrough/bench/bench.hpp"
#include "walkthrough/bench/dialogue.hpp"
#include "walkthrough/temporary_folder.hpp"

namespace flashbook::bench {

/// What others have, from a Python process of its own (tests/gpu/peers.py), which is asked for a
/// time when its turn comes. Its inputs are the task's numbers; O and dQ are judged as ours are.
class PeerTeam : public Team {
 public:
  /// `python` runs `script`, with `words` behind it; files for its tensors go to a
  /// folder in memory where the system has such a place.
  /// Throws std::runtime_error with what is missing.
  PeerTeam(const std::string& python, const std::filesystem::path& script, const Tensors& tensors,
           DType dtype, std::int64_t elements, const std::vector<std::string>& words = {});
  std::vector<Entry> enter(const Task& task, const Wanted& wanted) override;
  /// Its matrix product, where ours is not there.
  Gemm gemm();
  /// "torch 2.11.0, cuDNN 9.19.0".
  const std::string& versions() const { return versions_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Dialogue> peers_;
  std::string versions_;
};

}  // namespace flashbook::bench
