#include "walkthrough/commands/sim/roofline_report.hpp"

#include <algorithm>

#include "walkthrough/number_table.hpp"

namespace flashbook::sim {

using Json = nlohmann::ordered_json;

namespace {

double as_double(Index value) {
  return static_cast<double>(value);
}

}  // namespace

double RooflineRow::tflops_at_most() const {
  return as_double(report.flops_executed) / times.longest() / 1e12;
}

double RooflineRow::nominal_tflops_at_most() const {
  return as_double(report.flops_nominal) / times.longest() / 1e12;
}

double RooflineRow::flops_per_sram_byte() const {
  return as_double(demand.flops) / as_double(demand.sram_bytes);
}

// ---- for programs

namespace {

std::vector<std::pair<std::string, Json>> fields_of(const RooflineRow& row, DType dtype) {
  const io::Demand& demand = row.demand;
  const bool blocks = row.algorithm.takes.blocks;
  return {{"algorithm", row.algorithm.name},
          {"machine", row.gpu.name},
          {"br", blocks ? Json(row.schedule.blocks.rows) : Json()},
          {"bc", blocks ? Json(row.schedule.blocks.columns) : Json()},
          {"source", row.report.executed ? "executed, one head for all" : "closed form"},
          {"flops_executed", demand.flops},
          {"flops_nominal", row.report.flops_nominal},
          {"exp2_scores", demand.scores},
          {"exp2_rescales", demand.rescales},
          {"sram_bytes", demand.sram_bytes},
          {"flops_per_sram_byte", row.flops_per_sram_byte()},
          {"dram_bytes", demand.dram_bytes},
          {"dram_bytes_source", "closed form; assumes compulsory traffic"},
          {"flops_per_dram_byte", demand.intensity()},
          {"peak_sram_bytes", row.report.peak_sram_bytes},
          {"seconds_matmul", row.times.matmul},
          {"seconds_exp2", row.times.exp2},
          {"seconds_dram", row.times.dram},
          {"binds", name(row.times.binding(), dtype)},
          {"tflops_at_most", row.tflops_at_most()},
          {"nominal_tflops_at_most", row.nominal_tflops_at_most()}};
}

Json as_json(const io::Gpu& gpu, DType dtype) {
  Json out = {{"name", gpu.name}, {"source", gpu.source}};
  for (const io::GpuField& field : io::gpu_fields())
    std::visit(
        [&](auto member) {
          const bool unknown = field.may_be_unknown && gpu.*member == 0;
          out[std::string(field.name)] = unknown ? Json() : Json(gpu.*member);
        },
        field.member);
  out["exp2_per_s"] = gpu.exp2_per_s();
  out["ridge_flops_per_byte"] = gpu.ridge(dtype);
  return out;
}

}  // namespace

Records records_of(const Roofline& roofline) {
  Records records;
  for (const RooflineRow& row : roofline.rows) {
    records.columns.clear();
    records.rows.emplace_back();
    for (auto& [column, value] : fields_of(row, dtype_of(roofline.problem.dtype))) {
      records.columns.push_back(column);
      records.rows.back().push_back(std::move(value));
    }
  }
  return records;
}

Json as_json(const Roofline& roofline) {
  const ProblemOptions& p = roofline.problem;
  Json machines = Json::array();
  for (const io::Gpu& gpu : roofline.gpus) machines.push_back(as_json(gpu, dtype_of(p.dtype)));
  return {{"n", p.n},
          {"d", p.d},
          {"batch", p.batch},
          {"heads", p.heads},
          {"dtype", p.dtype},
          {"causal", p.causal},
          {"machines", machines},
          {"rows", flashbook::as_json(records_of(roofline))}};
}

// ---- the picture

namespace {

/// From a little left of everything to a little right of it: slope of DRAM, ridge, roof.
Series roof_of(const io::Gpu& gpu, DType dtype, double first, double last) {
  const double slope = gpu.dram_bytes_per_s / 1e12, ridge = gpu.ridge(dtype);
  const double roof = gpu.matmul_flops_per_s(dtype) / 1e12;
  return {gpu.name, {{first, slope * first, false}, {ridge, roof, false}, {last, roof, false}}};
}

}  // namespace

Plot plot_of(const Roofline& roofline) {
  const DType dtype = dtype_of(roofline.problem.dtype);
  double first = roofline.gpus.front().ridge(dtype), last = first;
  const auto widen = [&](double x) { first = std::min(first, x), last = std::max(last, x); };
  for (const io::Gpu& gpu : roofline.gpus) widen(gpu.ridge(dtype));
  for (const RooflineRow& row : roofline.rows) widen(row.demand.intensity());

  Plot plot = {"Roofline: " + roofline.problem.text(),
               {"FLOPs executed to a byte of DRAM traffic", Scale::log10},
               {"TFLOP/s at most", Scale::log10},
               {}};
  for (const io::Gpu& gpu : roofline.gpus)
    plot.series.push_back(roof_of(gpu, dtype, first / 2, last * 2));
  for (const io::Algorithm* algorithm : roofline.algorithms) {
    Series points = {std::string(algorithm->name), {}};
    for (const RooflineRow& row : roofline.rows)
      if (&row.algorithm == algorithm)
        points.points.push_back(
            {row.demand.intensity(), row.tflops_at_most(), row.report.executed});
    plot.series.push_back(points);
  }
  return plot;
}

// ---- for people

namespace {

std::string machines_table(const Roofline& roofline) {
  const DType dtype = dtype_of(roofline.problem.dtype);
  std::vector<std::vector<std::string>> rows = {
      {"machine", "SMs", "SRAM/SM", "L2", "DRAM TB/s", "TFLOP/s", "GHz", "exp2 T/s", "ridge"}};
  for (const io::Gpu& gpu : roofline.gpus)
    rows.push_back(
        {gpu.name, std::to_string(gpu.multiprocessors),
         short_number(as_double(gpu.sram_bytes) / 1024) + " KiB",
         gpu.l2_bytes == 0 ? "–" : short_number(as_double(gpu.l2_bytes) / 0x1p20) + " MiB",
         short_number(gpu.dram_bytes_per_s / 1e12),
         short_number(gpu.matmul_flops_per_s(dtype) / 1e12), short_number(gpu.clock_hz / 1e9),
         short_number(gpu.exp2_per_s() / 1e12), short_number(gpu.ridge(dtype))});
  return table(rows);
}

std::string sources(const Roofline& roofline) {
  std::string out;
  for (const io::Gpu& gpu : roofline.gpus) out += paragraph("  " + gpu.name + ": ", gpu.source);
  return out;
}

std::string times_table(const Roofline& roofline, const io::Algorithm& algorithm) {
  const DType dtype = dtype_of(roofline.problem.dtype);
  std::vector<std::vector<std::string>> rows = {
      {"machine", "tiles", "HBM-SRAM", "matmul", "exp2", "DRAM", "binds", "TFLOP/s"}};
  for (const RooflineRow& row : roofline.rows)
    if (&row.algorithm == &algorithm)
      rows.push_back({row.gpu.name, row.algorithm.takes.blocks ? text_of(row.schedule.blocks) : "–",
                      short_bytes(row.demand.sram_bytes), short_seconds(row.times.matmul),
                      short_seconds(row.times.exp2), short_seconds(row.times.dram),
                      std::string(name(row.times.binding(), dtype)),
                      short_number(row.tflops_at_most())});
  return table(rows);
}

std::string heading(const RooflineRow& row) {
  return "\n" + std::string(row.algorithm.name) + ": " + std::string(row.algorithm.title) + "\n  " +
         (row.report.executed ? "executed: " : "closed form: ") + short_flops(row.demand.flops) +
         " (" + short_flops(row.report.flops_nominal) + " nominal); DRAM " +
         short_bytes(row.demand.dram_bytes) + ", " + short_number(row.demand.intensity()) +
         " FLOP/B\n";
}

constexpr const char* legend = R"(
  ridge     FLOP/B above which arithmetic takes longer than DRAM traffic.
  executed  one head is run and counted for all of them, which are alike.
  tiles     B_r × B_c of S: unless given, those that move the fewest bytes
            through an SM's SRAM, which here holds S and O too.
  HBM-SRAM  bytes that go in and out of SRAM, as counted.
  DRAM      the bytes that are left when no kernel moves an element twice
            (compulsory traffic, closed form). An assumption: that the L2 cache
            serves what a kernel reads again. Measured for FlashAttention's
            forward pass; sums that go to memory and back, FA1's O or a backward
            pass's dQ, may cost more.
  matmul    FLOPs of the products, at the peak of the tensor cores (fp32: of the
            units outside them).
  exp2      one to each score that is computed, and one to each row of a tile
            to rescale: narrow tiles cost. Rate: SMs x GHz x exp2 a clock.
  TFLOP/s   executed FLOPs over the longest of the times: the speed of light,
            where the others hide behind it.
  nominal   FLOPs as published tables count them: 4N²d a head forward, 2.5 times
            that backward, halved for causal. --json has TFLOP/s of these too.
)";

}  // namespace

std::string as_text(const Roofline& roofline) {
  std::string out = "Roofline of " + roofline.problem.text() + "\n\n" + machines_table(roofline);
  for (std::size_t a = 0; a < roofline.algorithms.size(); ++a)
    out += heading(roofline.rows[a * roofline.gpus.size()]) +
           times_table(roofline, *roofline.algorithms[a]);
  return out + legend + "\nSources\n" + sources(roofline) + "\n" + in_characters(plot_of(roofline));
}

}  // namespace flashbook::sim
