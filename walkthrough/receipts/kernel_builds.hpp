#pragma once

#include <string>
#include <vector>

namespace flashbook::receipts {

/// A kernel's generated code for one architecture, told by its hash (cmake/kernel_builds.py).
struct Fingerprint {
  std::string kernel;  ///< "forward/one_pass"
  std::string target;  ///< "sm_90a"
  std::string sha256;
};

/// What ptxas gave one of a kernel's functions. Shared memory taken at the launch is not in it.
struct Resources {
  std::string kernel, entry, target;  ///< the entry's mangled name
  int registers, shared_bytes, spill_store_bytes, spill_load_bytes;
};

/// The kernels that are linked into this program.
struct KernelBuilds {
  std::string toolkit;  ///< nvcc's version; empty: there was none
  std::vector<Fingerprint> fingerprints;
  std::vector<Resources> resources;
};

const KernelBuilds& kernel_builds();

}  // namespace flashbook::receipts
