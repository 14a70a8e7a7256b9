#include "walkthrough/margins.hpp"

#include <cmath>
#include <cstdio>
#include <sstream>

namespace flashbook {

using namespace conformance;

void Largest::add(double x) {
  if (!most || (!std::isnan(*most) && !(x <= *most))) most = x;
}

void Largest::add(const std::optional<double>& x) {
  if (x) add(*x);
}

std::string Largest::text() const {
  if (!most) return "–";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", *most);
  return buffer;
}

void MarginTables::add(const CaseReport& report) {
  for (const OutputReport& judged : report.outputs) {
    Gates& gates = used_[{report.implementation, report.dtype}][judged.output];
    gates[0].add(judged.margins.gate1);
    gates[1].add(judged.margins.gate2);
    gates[2].add(judged.margins.gate3);
  }
}

const PerOutput<MarginTables::Gates>* MarginTables::find(const std::string& implementation,
                                                         DType dtype) const {
  const auto found = used_.find({implementation, dtype});
  return found == used_.end() ? nullptr : &found->second;
}

std::string MarginTables::markdown(const std::vector<std::string>& implementations) const {
  std::ostringstream out;
  for (std::size_t gate = 0; gate < 3; ++gate) {
    out << "## Gate " << gate + 1 << "\n\n| implementation | dtype |";
    for (Output output : all_outputs) out << ' ' << name(output) << " |";
    out << "\n|---|---|";
    for (std::size_t n = 0; n < all_outputs.size(); ++n) out << "---|";
    out << '\n';
    for (const std::string& implementation : implementations)
      for (DType dtype : {DType::fp16, DType::bf16, DType::fp32, DType::fp64}) {
        const PerOutput<Gates>* used = find(implementation, dtype);
        if (!used) continue;
        out << "| " << implementation << " | " << name(dtype) << " |";
        for (Output output : all_outputs) out << ' ' << (*used)[output][gate].text() << " |";
        out << '\n';
      }
    out << '\n';
  }
  return out.str();
}

}  // namespace flashbook
