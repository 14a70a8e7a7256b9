// What a GPU showed of a kernel, kept as docs/receipts/KERNEL.json, and whether it still is about
// the kernel as it is now.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cuda/api/machine.hpp"
#include "walkthrough/receipts/kernel_builds.hpp"

namespace flashbook::receipts {

using Json = nlohmann::ordered_json;

/// Every kernel of both ladders: "forward/one_pass".
std::vector<std::string> kernel_names();

enum class State {
  current,         ///< about this code
  stale,           ///< about other code
  missing,         ///< there is none, or a part of it
  not_comparable,  ///< of another toolkit, or of other architectures
  not_compared     ///< this build has no nvcc
};
std::string_view name(State state);

/// The state of a receipt, of all its parts the worst, and why. `receipt` is null where there is
/// none.
struct Standing {
  State state;
  std::string why;
};
Standing standing_of(const std::string& kernel, const Json& receipt, const KernelBuilds& builds);

/// Kernels that have no current receipt, each with the reason: lines "forward/one_pass: no GPU
/// yet". Empty lines and those that begin with # are skipped. Throws InputError that names a bad
/// line.
std::map<std::string, std::string> read_pending(const std::filesystem::path& file);

/// The receipt of a kernel in a folder; null if there is none. Throws InputError if it is not JSON.
Json read_receipt(const std::filesystem::path& folder, const std::string& kernel);

/// Puts a part ("verify" or "bench") into a kernel's receipt, which is made if it is not there:
/// with the GPU, its driver, the toolkit and the fingerprints as they are now, and what ptxas gave.
void write_part(const std::filesystem::path& folder, const std::string& kernel,
                const std::string& part, Json content, const KernelBuilds& builds, const Gpu& gpu);

}  // namespace flashbook::receipts
