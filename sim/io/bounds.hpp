#pragma once

#include <string>

#include "sim/io/mask.hpp"

namespace flashbook::io {

/// What any algorithm must move, and how what is known grows. Elements of one head with
/// N_q = N_k = N and d = d_v; M is the SRAM in elements.
struct Shape {
  double n, d, m;
};

/// What any pass moves, whatever its SRAM: Q, K, V in and O out, 4Nd; backward Q, K, V, O, dO in
/// and dQ, dK, dV out, 8Nd.
double compulsory(const Shape& shape, bool backward);

/// Q ≥ max(4Nd, N²d²/(M + 4d²) − M) for any forward pass with standard matrix products:
/// Saha and Ye (arXiv 2402.07443), Lemma 3.3, with Hong and Kung's argument.
double forward_lower_bound(const Shape& shape);

/// Θ(N²d²/M), for d ≤ M ≤ Nd: FA1 (arXiv 2205.14135), Theorem 2 (forward) and 5 (backward).
double flash_order(const Shape& shape);
/// Θ(min((N²d² + Nd³)/M, (N²d + Nd²)/√M)): backward, arXiv 2410.09397.
double optimal_backward_order(const Shape& shape);

/// Elements moved by square tiling, the optimum below M = d²: both products in B × B tiles,
/// B = ⌊√(M/4)⌋, S and P through HBM. Infinite if not even a 1 × 1 tile fits.
double square_tiling(const Shape& shape);
/// The same where B divides N and d, or as if it did: 3N² + 4N²d/B + Nd. A tile that d cuts short
/// costs as much as a whole one, so that the count above lies up to N²(⌈d/B⌉ − d/B) higher.
double square_tiling_undivided(const Shape& shape);

/// Counts are 64-bit integers, and bytes in the smallest tiles the largest of them. Throws
/// InputError that names `argument`, which gave n, if they may pass 2^62 for `heads` heads in all
/// of n tokens and d channels.
void check_countable(const std::string& argument, Index n, Index d, double heads);

}  // namespace flashbook::io
