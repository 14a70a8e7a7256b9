#pragma once

#include <string>

#include "tests/conformance/fuzz/fuzz.hpp"

namespace flashbook {

/// What the fuzzer judges on each problem: all implementations, or those called `wanted`, where
/// "io.fa2" stands for io.fa2 with any blocks. Blocks that were not asked for are drawn anew for
/// each problem. Throws InputError if nothing has that name.
conformance::Contestants contestants(const std::string& wanted);

}  // namespace flashbook
