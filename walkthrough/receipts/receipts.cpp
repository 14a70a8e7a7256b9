#include "walkthrough/receipts/receipts.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/output_file.hpp"

namespace flashbook::receipts {
namespace {

namespace fs = std::filesystem;

fs::path path_of(const fs::path& folder, const std::string& kernel) {
  return folder / (kernel + ".json");
}

std::string demangled(const std::string& entry) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : entry;
}

Json fingerprints_of(const std::string& kernel, const KernelBuilds& builds) {
  Json of_target = Json::object();
  for (const Fingerprint& each : builds.fingerprints)
    if (each.kernel == kernel) of_target[each.target] = each.sha256;
  return of_target;
}

Json resources_of(const std::string& kernel, const KernelBuilds& builds) {
  Json lines = Json::array();
  for (const Resources& each : builds.resources)
    if (each.kernel == kernel)
      lines.push_back({{"entry", demangled(each.entry)},
                       {"target", each.target},
                       {"registers", each.registers},
                       {"shared_bytes", each.shared_bytes},
                       {"spill_store_bytes", each.spill_store_bytes},
                       {"spill_load_bytes", each.spill_load_bytes}});
  return lines;
}

/// Whether one part is about the code as it is.
Standing standing_of_part(const std::string& part, const Json& content, const Json& now,
                          const std::string& toolkit) {
  const std::string made_with = content["toolkit"];
  if (made_with != toolkit)
    return {State::not_comparable,
            part + " is of toolkit " + made_with + ", this build of " + toolkit};
  bool any = false;
  for (const auto& [target, sha256] : content["ptx"].items()) {
    if (!now.contains(target)) continue;
    any = true;
    if (now[target] != sha256)
      return {State::stale, part + " was made of other code for " + target};
  }
  if (!any) return {State::not_comparable, part + " is of no architecture of this build"};
  return {State::current, ""};
}

/// Whether a part says what it was made of.
bool is_whole(const Json& part) {
  if (!part.is_object() || !part.contains("toolkit") || !part.contains("ptx")) return false;
  const Json& ptx = part["ptx"];
  return part["toolkit"].is_string() && ptx.is_object() &&
         std::all_of(ptx.begin(), ptx.end(), [](const Json& sha256) { return sha256.is_string(); });
}

/// Throws InputError that names the file and what is not as we write it.
void check_receipt(const Json& receipt, const std::string& kernel, const std::string& file) {
  if (!receipt.is_object()) throw InputError(file + " is no JSON object: write it anew");
  if (receipt.value("kernel", Json()) != kernel)
    throw InputError(file + " is not of kernel " + kernel + ": write it anew");
  for (const char* part : {"verify", "bench"})
    if (receipt.contains(part) && !is_whole(receipt[part]))
      throw InputError(file + " has a part " + part +
                       " without its toolkit and ptx: write it anew");
}

/// How much must be done: more is worse.
int badness(State state) {
  switch (state) {
    case State::missing:
      return 4;
    case State::stale:
      return 3;
    case State::not_comparable:
      return 2;
    case State::not_compared:
      return 1;
    case State::current:
      break;
  }
  return 0;
}

}  // namespace

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const KernelPair& pair : emulated_pairs())
    if (pair.forward) add(std::string("forward/") + pair.forward->name);
  for (const KernelPair& pair : emulated_pairs())
    if (pair.backward) add(std::string("backward/") + pair.backward->name);
  return names;
}

std::string_view name(State state) {
  switch (state) {
    case State::current:
      return "current";
    case State::stale:
      return "stale";
    case State::missing:
      return "missing";
    case State::not_comparable:
      return "not comparable";
    case State::not_compared:
      break;
  }
  return "no nvcc here";
}

Standing standing_of(const std::string& kernel, const Json& receipt, const KernelBuilds& builds) {
  if (receipt.is_null()) return {State::missing, "there is no receipt"};
  const Json now = fingerprints_of(kernel, builds);
  Standing worst = {State::current, ""};
  for (const std::string part : {"verify", "bench"}) {
    Standing one = {State::not_compared, "the kernels of this build are not compiled for GPUs"};
    if (!receipt.contains(part))
      one = {State::missing, "there is no part " + part};
    else if (!builds.toolkit.empty())
      one = standing_of_part(part, receipt[part], now, builds.toolkit);
    if (badness(one.state) > badness(worst.state)) worst = one;
  }
  return worst;
}

std::map<std::string, std::string> read_pending(const fs::path& file) {
  std::map<std::string, std::string> pending;
  const std::vector<std::string> known = kernel_names();
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    const std::string kernel = line.substr(0, colon);
    if (colon == std::string::npos || line.find_first_not_of(' ', colon + 1) == std::string::npos)
      throw InputError(file.string() + " has the line '" + line +
                       "': write KERNEL: and the reason, such as \"forward/fa1: no GPU yet\"");
    if (std::find(known.begin(), known.end(), kernel) == known.end())
      throw InputError(file.string() + " names '" + kernel +
                       "', and there is no such kernel: remove the line");
    if (!pending.emplace(kernel, line.substr(colon + 2)).second)
      throw InputError(file.string() + " names '" + kernel + "' twice: remove one of the lines");
  }
  return pending;
}

Json read_receipt(const fs::path& folder, const std::string& kernel) {
  std::ifstream in(path_of(folder, kernel));
  if (!in) return nullptr;
  Json receipt = Json::parse(in, nullptr, false);
  check_receipt(receipt, kernel, path_of(folder, kernel).string());
  return receipt;
}

void write_part(const fs::path& folder, const std::string& kernel, const std::string& part,
                Json content, const KernelBuilds& builds, const Gpu& gpu) {
  Json receipt = read_receipt(folder, kernel);
  if (receipt.is_null()) receipt = Json::object();
  receipt["kernel"] = kernel;
  receipt["resources"] = resources_of(kernel, builds);
  Json stamped = {{"device", gpu.name},
                  {"driver", gpu.driver},
                  {"toolkit", builds.toolkit},
                  {"ptx", fingerprints_of(kernel, builds)}};
  stamped.update(content);
  receipt[part] = stamped;
  const fs::path file = path_of(folder, kernel);
  fs::create_directories(file.parent_path());
  write_file("--receipt", file, receipt.dump(1) + "\n");
}

}  // namespace flashbook::receipts
