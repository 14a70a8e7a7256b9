#pragma once

#include <string>

#include "sim/io/trace.hpp"

namespace flashbook {

/// A trace in Chrome's Trace Event Format, which ui.perfetto.dev and chrome://tracing open. A
/// worker is a process; its tasks, its moves, its products and each slot of its SRAM are threads of
/// complete events ("X"), the bytes it holds are a counter ("C"), and metadata ("M") names them
/// all. Times are microseconds, as the format wants, exact to the nanosecond.
std::string chrome_trace(const io::Trace& trace, const std::string& title);

}  // namespace flashbook
