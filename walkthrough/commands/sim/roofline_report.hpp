#pragma once

#include <vector>

#include "sim/io/roofline.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/records.hpp"

/// How the answer to `sim roofline` is shown.
namespace flashbook::sim {

/// One algorithm on one machine.
struct RooflineRow {
  const io::Algorithm& algorithm;
  const io::Gpu& gpu;
  io::Schedule schedule;
  io::Report report;
  io::Demand demand;
  io::Times times;

  double tflops_at_most() const;          ///< of executed FLOPs
  double nominal_tflops_at_most() const;  ///< of FLOPs as published tables count them
  double flops_per_sram_byte() const;
};

struct Roofline {
  ProblemOptions problem;
  std::vector<io::Gpu> gpus;
  std::vector<const io::Algorithm*> algorithms;
  std::vector<RooflineRow> rows;  ///< all machines of the first algorithm, then of the next
};

/// One row to a pair of algorithm and machine. Seconds, bytes and FLOPs are of the whole problem.
Records records_of(const Roofline& roofline);
nlohmann::ordered_json as_json(const Roofline& roofline);
/// TFLOP/s over intensity: a line a machine, and an algorithm's points on all of them.
Plot plot_of(const Roofline& roofline);
std::string as_text(const Roofline& roofline);

}  // namespace flashbook::sim
