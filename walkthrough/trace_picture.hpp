#pragma once

#include <string>

#include "sim/io/trace.hpp"

namespace flashbook {

/// One worker's time in characters: how much of each moment it moves, computes, and how full its
/// SRAM is, at most 80 columns wide.
std::string trace_picture(const io::Trace& trace, Index worker);

/// "820 ns", "4.19 µs", "1.2 ms".
std::string short_time(Index ns);

}  // namespace flashbook
