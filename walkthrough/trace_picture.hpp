#pragma once

#include <string>

#include "sim/io/trace.hpp"

namespace flashbook {

/// One worker's time in characters: how much of each moment it moves, computes, and how full its
/// SRAM is, at most 80 columns wide.
std::string trace_picture(const io::Trace& trace, Index worker);

}  // namespace flashbook
