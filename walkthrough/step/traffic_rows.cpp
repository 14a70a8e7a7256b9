#include "walkthrough/step/traffic_rows.hpp"

#include "walkthrough/number_table.hpp"

namespace flashbook::step {
namespace {

Traffic in_elements(const io::Counts& counts) {
  return {counts.reads + counts.atomic_updates, counts.writes + counts.atomic_updates};
}

Traffic in_bytes(const Traffic& elements, Index element_bytes) {
  return {element_bytes * elements.read, element_bytes * elements.written};
}

/// Nothing is a blank.
std::string cell(Index count) {
  return count == 0 ? "" : std::to_string(count);
}

}  // namespace

StepTraffic traffic_of(const StepRun& run, Index at) {
  const std::vector<io::Counts> here = run.moved_by(at);
  const std::vector<io::Counts>& so_far = run.so_far[static_cast<std::size_t>(at)];
  StepTraffic traffic = {{}, {"elements", {}, {}}, {"bytes", {}, {}}};
  for (std::size_t t = 0; t < here.size(); ++t) {
    const io::TensorTraffic& tensor = run.report.tensors[t];
    const TrafficRow row = {tensor.name, in_elements(here[t]), in_elements(so_far[t])};
    if (row.so_far == Traffic{}) continue;
    traffic.tensors.push_back(row);
    traffic.elements.here += row.here;
    traffic.elements.so_far += row.so_far;
    traffic.bytes.here += in_bytes(row.here, tensor.element_bytes);
    traffic.bytes.so_far += in_bytes(row.so_far, tensor.element_bytes);
  }
  return traffic;
}

Block traffic_block(const StepRun& run, Index at) {
  constexpr std::size_t name = 12, number = 10;
  Block block = {
      left("HBM ⇄ SRAM", name) + right("this step", 2 * number) + right("so far", 2 * number),
      left("", name) + right("read", number) + right("written", number) + right("read", number) +
          right("written", number)};
  const auto add = [&](const TrafficRow& row) {
    block.push_back(left(row.name, name) + right(cell(row.here.read), number) +
                    right(cell(row.here.written), number) + right(cell(row.so_far.read), number) +
                    right(cell(row.so_far.written), number));
  };
  const StepTraffic traffic = traffic_of(run, at);
  for (const TrafficRow& row : traffic.tensors) add(row);
  add(traffic.elements);
  add(traffic.bytes);
  return block;
}

}  // namespace flashbook::step
