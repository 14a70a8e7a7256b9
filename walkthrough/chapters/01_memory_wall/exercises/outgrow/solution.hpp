#pragma once

/// The smallest N at which S holds at least 100 times the elements of Q, K, V and O together: d =
/// 128.
///
/// N² ≥ 100·4·N·d is N ≥ 400·d.
constexpr long answer = 51200;
