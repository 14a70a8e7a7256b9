#pragma once

#include <cstdint>

/// Elements that one head of standard attention moves between HBM and SRAM.
struct Traffic {
  std::int64_t read, written;
};

/// Q is n_q × d, K n_k × d, V n_k × d_v, O n_q × d_v; causal: a mask hides keys.
inline Traffic standard_traffic(std::int64_t n_q, std::int64_t n_k, std::int64_t d,
                                std::int64_t d_v, bool causal) {
  return {0, 0};  // yours
}
