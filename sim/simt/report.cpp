#include "sim/simt/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

namespace flashbook::simt {
namespace {

std::string index_text(const Dim3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," +
         std::to_string(index.z) + ")";
}

void add_to(Traffic& sum, const Traffic& other) {
  sum.instructions += other.instructions;
  sum.cost += other.cost;
  sum.ideal += other.ideal;
}

/// "4096 (1.00)": a cost and how many times the ideal it is.
std::string cell(const Traffic& traffic) {
  if (traffic.instructions == 0) return "";
  std::array<char, 48> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%llu (%.2f)",
                static_cast<unsigned long long>(traffic.cost),
                static_cast<double>(traffic.cost) / static_cast<double>(traffic.ideal));
  return buffer.data();
}

std::string cell(std::uint64_t count) {
  return count == 0 ? "" : std::to_string(count);
}

using Row = std::vector<std::string>;

constexpr std::size_t of_every_gpu = 12;  // columns; kernels for Hopper GPUs have the others, too

Row headings() {
  return {"line",
          "global load",
          "global store",
          "shared load",
          "shared store",
          "mma",
          "ldmatrix",
          "exp2",
          "shuffles",
          "barriers",
          "cp.async",
          "atomics",
          "wgmma",
          "TMA",
          "TMA load bytes",
          "from L2",
          "TMA store bytes",
          "mbarrier arrivals",
          "mbarrier waits",
          "setmaxnreg"};
}

Row row_of(std::string name, const LineCounts& c) {
  return {std::move(name),         cell(c.global_load),
          cell(c.global_store),    cell(c.shared_load),
          cell(c.shared_store),    cell(c.mma),
          cell(c.ldmatrix),        cell(c.exp2),
          cell(c.shuffles),        cell(c.barriers),
          cell(c.async_copies),    cell(c.atomics),
          cell(c.wgmma),           cell(c.tma),
          cell(c.tma_load_bytes),  cell(c.tma_l2_bytes),
          cell(c.tma_store_bytes), cell(c.mbarrier_arrivals),
          cell(c.mbarrier_waits),  cell(c.setmaxnreg)};
}

std::string aligned(const std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> width(columns);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < columns; ++i) width[i] = std::max(width[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    out += row[0] + std::string(width[0] - row[0].size(), ' ');
    for (std::size_t i = 1; i < columns; ++i)
      out += std::string(width[i] - row[i].size() + 2, ' ') + row[i];
    out += '\n';
  }
  return out;
}

}  // namespace

std::string_view name(Category category) {
  switch (category) {
    case Category::deadlock:
      return "deadlock";
    case Category::divergence:
      return "divergent collective";
    case Category::out_of_bounds:
      return "out of bounds";
    case Category::misaligned:
      return "misaligned";
    case Category::uninitialised:
      return "uninitialised shared memory";
    case Category::unfinished_copy:
      return "unfinished copy";
    case Category::race:
      return "race";
    case Category::block_race:
      return "race between blocks";
    case Category::departed:
      return "departed block";
    case Category::invalid:
      break;
  }
  return "invalid";
}

std::string Finding::text() const {
  std::string out = std::string(name(category)) + " at " + simt::text(site_of(site));
  if (other) out += " against " + simt::text(site_of(other));
  out += ": " + what + "\n    kernel " + kernel + ", block " + index_text(block) + ", thread " +
         std::to_string(thread) + " (warp " + std::to_string(thread / 32) + ")";
  if (seed) out += ", seed " + std::to_string(seed);
  return out + "\n";
}

bool Finding::same_pair(const Finding& f) const {
  return category == f.category && std::minmax(site, other) == std::minmax(f.site, f.other) &&
         kernel == f.kernel;
}

LineCounts& LineCounts::operator+=(const LineCounts& c) {
  add_to(global_load, c.global_load);
  add_to(global_store, c.global_store);
  add_to(shared_load, c.shared_load);
  add_to(shared_store, c.shared_store);
  mma += c.mma;
  mma_flops += c.mma_flops;
  ldmatrix += c.ldmatrix;
  shuffles += c.shuffles;
  barriers += c.barriers;
  async_copies += c.async_copies;
  atomics += c.atomics;
  exp2 += c.exp2;
  mbarrier_arrivals += c.mbarrier_arrivals;
  mbarrier_waits += c.mbarrier_waits;
  setmaxnreg += c.setmaxnreg;
  wgmma += c.wgmma;
  tma += c.tma;
  tma_load_bytes += c.tma_load_bytes;
  tma_l2_bytes += c.tma_l2_bytes;
  tma_store_bytes += c.tma_store_bytes;
  return *this;
}

bool LineCounts::anything() const {
  return global_load.instructions || global_store.instructions || shared_load.instructions ||
         shared_store.instructions || mma || ldmatrix || shuffles || barriers || async_copies ||
         atomics || exp2 || uses_hopper();
}

bool LineCounts::uses_hopper() const {
  return wgmma || tma || mbarrier_arrivals || mbarrier_waits || setmaxnreg;
}

LineCounts Report::total() const {
  LineCounts sum;
  for (const LineCounts& line : lines) sum += line;
  return sum;
}

void Report::add(Finding finding) {
  const auto known = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return f.same_pair(finding); });
  if (known == findings.end())
    findings.push_back(std::move(finding));
  else if (std::tie(finding.seed, finding.block_number) <
           std::tie(known->seed, known->block_number))
    *known = std::move(finding);
}

void Report::add(Report other) {
  for (Finding& finding : other.findings) add(std::move(finding));
  lines.resize(std::max(lines.size(), other.lines.size()));
  for (std::size_t i = 0; i < other.lines.size(); ++i) lines[i] += other.lines[i];
  events.insert(events.end(), other.events.begin(), other.events.end());
  switches += other.switches;
}

std::string table(const Report& report) {
  std::vector<std::pair<Site, SiteId>> sites;
  for (std::size_t id = 1; id < report.lines.size(); ++id)
    if (report.lines[id].anything())
      sites.emplace_back(site_of(static_cast<SiteId>(id)), static_cast<SiteId>(id));
  std::sort(sites.begin(), sites.end(), [](const auto& a, const auto& b) {
    return std::pair(text(a.first).substr(0, text(a.first).rfind(':')), a.first.line) <
           std::pair(text(b.first).substr(0, text(b.first).rfind(':')), b.first.line);
  });

  std::vector<Row> rows = {headings()};
  for (const auto& [site, id] : sites) rows.push_back(row_of(text(site), report.lines[id]));
  const LineCounts total = report.total();
  rows.push_back(row_of("total", total));
  return aligned(rows, total.uses_hopper() ? rows[0].size() : of_every_gpu);
}

}  // namespace flashbook::simt
