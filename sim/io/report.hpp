#pragma once

#include <string>
#include <vector>

#include "sim/io/memory.hpp"

namespace flashbook::io {

/// Traffic of one tensor over the whole problem, in elements.
struct TensorTraffic {
  std::string name;
  Kind kind;
  Index element_bytes;
  Counts counts;

  bool operator==(const TensorTraffic&) const = default;
};

/// What one algorithm moves and computes on one problem, counted from a run or from formulas.
/// Everything but the peak is summed over the whole problem.
struct Report {
  std::string algorithm;
  bool executed = false;  ///< counted from a run; else from closed forms
  Index splits = 1;       ///< runs that each row's keys were cut into
  Index query_heads = 0;  ///< B·H_q: tables are per query head
  std::vector<TensorTraffic> tensors;
  Index visited_tiles = 0;    ///< tiles of S computed
  Index flops_executed = 0;   ///< of the products of the visited tiles, 2 a multiply-add
  Index flops_nominal = 0;    ///< as published tables count: all pairs, half of them if causal
  Index peak_sram_bytes = 0;  ///< most that one worker holds
  std::vector<ResidentTile> peak_tiles;  ///< what it held then; empty from closed forms
  bool includes_init = false;            ///< whether clearing outputs beforehand is counted

  /// Of `times` as many heads, each like those counted: in a dense problem without bias all are.
  Report repeated(Index times) const {
    Report all = *this;
    for (TensorTraffic& t : all.tensors) t.counts = t.counts.repeated(times);
    for (Index* sum :
         {&all.query_heads, &all.visited_tiles, &all.flops_executed, &all.flops_nominal})
      *sum *= times;
    return all;
  }

  Index matrix_reads() const { return total(Kind::matrix, &Counts::reads); }
  Index matrix_writes() const { return total(Kind::matrix, &Counts::writes); }
  Index vector_reads() const { return total(Kind::vector, &Counts::reads); }
  Index vector_writes() const { return total(Kind::vector, &Counts::writes); }
  Index atomic_updates() const {
    return total(Kind::matrix, &Counts::atomic_updates) +
           total(Kind::vector, &Counts::atomic_updates);
  }
  /// An atomic update reads its element and writes it.
  Index bytes_read() const { return bytes(&Counts::reads); }
  Index bytes_written() const { return bytes(&Counts::writes); }

 private:
  Index total(Kind kind, Index Counts::*count) const {
    Index sum = 0;
    for (const TensorTraffic& t : tensors)
      if (t.kind == kind) sum += t.counts.*count;
    return sum;
  }
  Index bytes(Index Counts::*count) const {
    Index sum = 0;
    for (const TensorTraffic& t : tensors)
      sum += t.element_bytes * (t.counts.*count + t.counts.atomic_updates);
    return sum;
  }
};

}  // namespace flashbook::io
