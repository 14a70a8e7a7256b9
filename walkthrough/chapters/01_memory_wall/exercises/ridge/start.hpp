#pragma once

/// The smallest head dimension at which an A100's tensor cores, and not its memory, bind standard
/// attention: N = 4096, fp16.
constexpr int answer = 64;  // yours
