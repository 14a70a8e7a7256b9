#pragma once

/// The smallest head dimension at which an A100's tensor cores, and not its memory, bind standard
/// attention: N = 4096, fp16.
///
/// 4N²d FLOPs to 2(4Nd + 4N²) bytes are N·d / (2(N + d)) FLOP/B. That is the ridge, 312 / 2.04 =
/// 152.9, at d = 2·152.9·N / (N − 2·152.9) = 330.5.
constexpr int answer = 331;
