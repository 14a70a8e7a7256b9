#pragma once

/// The smallest N at which S holds at least 100 times the elements of Q, K, V and O together: d =
/// 128.
constexpr long answer = 4096;  // yours
