#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/simt/conformance/dump.hpp"

/// What the tests have in common that run probes on the emulator.
namespace flashbook::probes {

/// Memory of ProbeLauncher.
class HostMemory {
 public:
  std::uint32_t* upload(const Words& words) { return kept_.emplace_back(words).data(); }
  std::uint32_t* zeros(int n) { return upload(Words(static_cast<std::size_t>(n) + 4)); }
  static Words download(const std::uint32_t* p, int n) { return {p, p + n}; }

 private:
  std::deque<Words> kept_;
};

/// All dumps in a folder, which need not exist.
inline std::vector<Dump> read_dumps(const std::filesystem::path& folder) {
  std::vector<Dump> dumps;
  if (!std::filesystem::exists(folder)) return dumps;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    dumps.push_back(read_dump(file));
  }
  return dumps;
}

}  // namespace flashbook::probes
