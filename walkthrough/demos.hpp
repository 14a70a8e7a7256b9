#pragma once

#include <span>
#include <string>

#include "sim/simt/launch.hpp"

/// The small kernels of the book's chapters on kernels, each run on numbers whose result is known.
namespace flashbook {

struct DemoRun {
  simt::Report report;
  std::string wrong;  ///< "y[2] is 7, and should be 8": the first value that is; empty if none
  const void* x = nullptr;  ///< what tensor copies of the report's events bring
};

struct Demo {
  const char* name;
  const char* what;           ///< "y = x^T in tiles", without a full stop
  int usual_n, step, most_n;  ///< n is a multiple of `step`, up to `most_n`
  DemoRun (*run)(int n, const simt::Options& options);
};

std::span<const Demo> demos();

/// Throws InputError if there is no demo of that name; the message lists them.
const Demo& find_demo(const std::string& name);

}  // namespace flashbook
