#pragma once

#include "sim/io/closed_form/visits.hpp"

/// What the closed forms are made of.
namespace flashbook::io {

/// Sums over all members, each of which every query head sees alike.
struct Totals {
  Index n_q = 0, n_k = 0, pairs = 0;   ///< Σ N_q, Σ N_k, Σ N_q N_k
  Index row_tiles = 0, key_tiles = 0;  ///< Σ T_r, Σ T_c
  Visits visited;                      ///< Σ of theirs; shapes of all members
  Index members = 0;
};

/// visit(member, times) for the members, those that are alike together: all of a dense problem are.
template <class Visit>
void for_members(const AttentionProblem& problem, const Visit& visit) {
  if (!problem->packed) {
    if (problem->members > 0) visit(problem.member(0), problem->members);
    return;
  }
  for (Index b = 0; b < problem->members; ++b) visit(problem.member(b), Index{1});
}

Totals totals_of(const AttentionProblem& problem, const Blocks& blocks);

/// Σ over visited tiles of the bias elements that each needs.
Index bias_reads(const AttentionProblem& problem, const Visits& visits);

/// Bytes of the largest tile of the bias's gradient, which is written whole, visited or not.
Index bias_tile_bytes(const AttentionProblem& problem, const Blocks& blocks);

/// Collects the tensors that anything is counted for.
class TrafficTable {
 public:
  TrafficTable(const AttentionProblem& problem, Report& report)
      : bytes_(bytes_of(problem.dtype())), report_(report) {}

  void matrix(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::matrix, bytes_, {reads, writes, 0});
  }
  void fp32_matrix(const char* name, Index reads, Index writes, Index atomic_updates = 0) {
    add(name, Kind::matrix, 4, {reads, writes, atomic_updates});
  }
  /// In the problem's dtype.
  void vector(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::vector, bytes_, {reads, writes, 0});
  }
  void fp32_vector(const char* name, Index reads, Index writes = 0) {
    add(name, Kind::vector, 4, {reads, writes, 0});
  }

 private:
  void add(const char* name, Kind kind, Index bytes, const Counts& counts) {
    if (counts != Counts{}) report_.tensors.push_back({name, kind, bytes, counts});
  }

  Index bytes_;
  Report& report_;
};

}  // namespace flashbook::io
