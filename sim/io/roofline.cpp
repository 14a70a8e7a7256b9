#include "sim/io/roofline.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/closed_form/totals.hpp"

namespace flashbook::io {
namespace {

Index bytes_of_report(const Report& report) {
  return report.bytes_read() + report.bytes_written();
}

/// Every kernel takes a head as one tile, and so moves nothing twice.
Index compulsory_bytes(const Algorithm& algorithm, const AttentionProblem& problem,
                       const Schedule& schedule) {
  Schedule whole = schedule;
  whole.blocks = {std::max<Index>(problem->n_q, 1), std::max<Index>(problem->n_k, 1)};
  return bytes_of_report(closed_form(algorithm, problem, whole));
}

/// A sum over the visited tiles of one head, where they were visited so many times in all: by every
/// head, and once more by every kernel that computes P again.
Index as_often(Index sum, Index visited, Index tiles) {
  if (visited % tiles != 0)
    throw std::logic_error(std::to_string(visited) + " visits of " + std::to_string(tiles) +
                           " tiles are not whole rounds of them");
  return sum * (visited / tiles);
}

}  // namespace

Demand demand_of(const Algorithm& algorithm, const AttentionProblem& problem,
                 const Schedule& schedule, const Report& report) {
  Demand demand = {.flops = report.flops_executed,
                   .scores = 0,
                   .rescales = 0,
                   .sram_bytes = bytes_of_report(report),
                   .dram_bytes = compulsory_bytes(algorithm, problem, schedule)};
  // A forward pass has two products to a pair, and weighs each pair once.
  if (!algorithm.backward) demand.scores = demand.flops / (2 * (problem->d + problem->d_v));
  if (!algorithm.takes.blocks || report.visited_tiles == 0) return demand;
  const Visits v = totals_of(problem, clamped(schedule.blocks, problem)).visited;
  if (algorithm.backward)
    demand.scores = as_often(v.pairs, report.visited_tiles, v.tiles);
  else
    demand.rescales = as_often(v.rows, report.visited_tiles, v.tiles);
  return demand;
}

std::string_view name(Resource resource, DType dtype) {
  if (resource == Resource::exp2) return "exp2";
  if (resource == Resource::dram) return "DRAM";
  return dtype == DType::fp32 ? "fp32" : "tensor";
}

double Times::longest() const {
  return std::max({matmul, exp2, dram});
}

Resource Times::binding() const {
  if (matmul == longest()) return Resource::matmul;
  return exp2 == longest() ? Resource::exp2 : Resource::dram;
}

Times times_on(const Gpu& gpu, DType dtype, const Demand& demand) {
  return {static_cast<double>(demand.flops) / gpu.matmul_flops_per_s(dtype),
          static_cast<double>(demand.scores + demand.rescales) / gpu.exp2_per_s(),
          static_cast<double>(demand.dram_bytes) / gpu.dram_bytes_per_s};
}

}  // namespace flashbook::io
