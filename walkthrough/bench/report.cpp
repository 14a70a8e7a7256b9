#include "walkthrough/bench/report.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "walkthrough/bench/cpu_team.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook::bench {
namespace {

using Index = std::int64_t;
using Rows = std::vector<const Row*>;

/// Rows that stand in one table.
struct Group {
  Pass pass;
  Index d;
  bool causal, packed;

  auto key() const { return std::tuple(pass, d, causal, packed); }
  std::string text() const {
    return std::string(name(pass)) + ", d = " + std::to_string(d) + (causal ? ", causal" : "") +
           (packed ? ", packed" : "");
  }
};

Group group_of(const Row& row) {
  return {row.pass, row.shape.d, row.shape.causal, row.shape.packed};
}

/// In the order in which they first come.
std::vector<Group> groups_of(const std::vector<Row>& rows) {
  std::vector<Group> groups;
  for (const Row& row : rows)
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const Group& g) { return g.key() == group_of(row).key(); }))
      groups.push_back(group_of(row));
  return groups;
}

Rows rows_of(const std::vector<Row>& all, const Group& group) {
  Rows rows;
  for (const Row& row : all)
    if (group_of(row).key() == group.key()) rows.push_back(&row);
  return rows;
}

/// The different values of something, in the order in which they first come.
template <class T, class Get>
std::vector<T> distinct(const Rows& rows, const Get& get) {
  std::vector<T> values;
  for (const Row* row : rows)
    if (std::find(values.begin(), values.end(), get(*row)) == values.end())
      values.push_back(get(*row));
  return values;
}

std::vector<Index> lengths_of(const Rows& rows) {
  return distinct<Index>(rows, [](const Row& row) { return row.shape.n; });
}

std::vector<std::string> impls_of(const Rows& rows) {
  return distinct<std::string>(rows, [](const Row& row) { return row.impl; });
}

const Row* find(const Rows& rows, const std::string& impl, Index n) {
  for (const Row* row : rows)
    if (row->impl == impl && row->shape.n == n) return row;
  return nullptr;
}

/// On a GPU, where the machine need not be said.
std::string label(const std::string& impl) {
  const std::size_t at = impl.find("@gpu");
  return is_emulated(impl) ? impl + " (emulated)" : impl.substr(0, at);
}

bool has_rate(const Row& row) {
  return row.seconds && !is_emulated(row.impl);
}

/// A fraction of one: ".93".
std::string of_one(std::optional<double> fraction) {
  if (!fraction) return "–";
  const std::string text = fixed(*fraction, 2);
  return text[0] == '0' ? text.substr(1) : text;
}

/// One length: all that is known of each contestant.
std::string full_table(const Rows& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"", "time", "rate", "of GEMM", "spread", "margin"}};
  for (const Row* row : rows) {
    if (!row->seconds) continue;
    const bool rate = has_rate(*row);
    cells.push_back({label(row->impl), short_seconds(*row->seconds),
                     rate ? short_flops(row->flops_rate()) + "/s" : "–",
                     rate ? of_one(row->of_gemm()) : "–", percent(*row->spread),
                     fixed(*row->margin, 2)});
  }
  return table(cells);
}

/// Several lengths: rates in a unit that suits the fastest, and their fractions of the product's.
std::string rate_table(const Rows& rows) {
  double most = 0;
  for (const Row* row : rows)
    if (has_rate(*row)) most = std::max(most, row->flops_rate());
  const double unit = most >= 1e12 ? 1e12 : 1e9;
  std::vector<std::vector<std::string>> cells = {
      {unit == 1e12 ? "TFLOP/s, of GEMM" : "GFLOP/s, of GEMM"}};
  for (const Index n : lengths_of(rows)) cells[0].push_back(short_count(static_cast<double>(n)));
  for (const std::string& impl : impls_of(rows)) {
    std::vector<std::string> line = {label(impl)};
    bool any = false;
    for (const Index n : lengths_of(rows)) {
      const Row* row = find(rows, impl, n);
      const bool rate = row && has_rate(*row);
      any |= rate;
      line.push_back(rate ? short_number(row->flops_rate() / unit) + " " + of_one(row->of_gemm())
                          : "–");
    }
    if (any) cells.push_back(line);
  }
  return table(cells);
}

/// Emulated kernels at several lengths.
std::string emulated_table(const Rows& rows) {
  std::vector<std::vector<std::string>> cells = {{"time of emulation"}};
  for (const Index n : lengths_of(rows)) cells[0].push_back(short_count(static_cast<double>(n)));
  for (const std::string& impl : impls_of(rows)) {
    if (!is_emulated(impl)) continue;
    std::vector<std::string> line = {impl};
    for (const Index n : lengths_of(rows)) {
      const Row* row = find(rows, impl, n);
      line.push_back(row && row->seconds ? short_seconds(*row->seconds) : "–");
    }
    cells.push_back(line);
  }
  return cells.size() > 1 ? "\n" + table(cells) : "";
}

/// "cuda.standard@gpu (n = 64k): needs 1.1 TB …", each reason once, with all lengths it holds for.
std::string reasons(const Rows& rows) {
  std::ostringstream out;
  std::vector<std::pair<std::string, std::string>> said;
  for (const Row* row : rows) {
    if (row->note.empty() ||
        std::find(said.begin(), said.end(), std::pair(row->impl, row->note)) != said.end())
      continue;
    said.emplace_back(row->impl, row->note);
    std::string lengths;
    for (const Row* other : rows)
      if (other->impl == row->impl && other->note == row->note)
        lengths += (lengths.empty() ? "" : ", ") + short_count(static_cast<double>(other->shape.n));
    out << paragraph("", label(row->impl) + ", n = " + lengths + ": " +
                             (row->failed ? "WRONG, no time is shown: " : "") + row->note);
  }
  return out.str();
}

/// TFLOP/s over the length, of each contestant that has any.
std::vector<Series> rates_of(const Rows& rows) {
  std::vector<Series> all;
  for (const std::string& impl : impls_of(rows)) {
    Series series = {impl, {}};
    for (const Row* row : rows)
      if (row->impl == impl && has_rate(*row))
        series.points.push_back(
            {static_cast<double>(row->shape.n), row->flops_rate() / 1e12, true});
    if (!series.points.empty()) all.push_back(series);
  }
  return all;
}

double best(const Series& series) {
  double most = 0;
  for (const Point& point : series.points) most = std::max(most, point.y);
  return most;
}

std::string spread_of(const Rows& rows) {
  double most = 0;
  for (const Row* row : rows) most = std::max(most, row->spread.value_or(0));
  return "Spread of the rounds: at most " + percent(most) + ".\n";
}

}  // namespace

std::string tables(const std::vector<Row>& all) {
  std::ostringstream out;
  for (const Group& group : groups_of(all)) {
    const Rows rows = rows_of(all, group);
    const bool several = lengths_of(rows).size() > 1;
    out << "\n" << group.text();
    if (!several) out << ", n = " << rows[0]->shape.n;
    out << "\n\n"
        << (several ? rate_table(rows) + emulated_table(rows) + spread_of(rows) : full_table(rows))
        << reasons(rows);
  }
  return out.str();
}

Records records_of(const std::vector<Row>& rows) {
  using Value = Records::Value;
  const auto value = [](std::optional<double> x) { return x ? Value(*x) : Value(); };
  Records records = {{"impl", "pass", "dtype", "head_dim", "causal", "packed", "batch", "heads",
                      "seqlen", "ms", "tflops", "error_margin", "spread", "gemm_tflops", "note"},
                     {}};
  for (const Row& row : rows) {
    const bool rate = has_rate(row);
    records.rows.push_back({row.impl, name(row.pass), name(row.dtype), row.shape.d,
                            row.shape.causal, row.shape.packed, row.shape.batch, row.shape.heads,
                            row.shape.n, row.seconds ? Value(*row.seconds * 1e3) : Value(),
                            rate ? Value(row.flops_rate() / 1e12) : Value(), value(row.margin),
                            value(row.spread),
                            row.gemm_flops ? Value(*row.gemm_flops / 1e12) : Value(), row.note});
  }
  return records;
}

std::optional<Plot> plot_of(const std::vector<Row>& all) {
  if (all.empty()) return std::nullopt;
  const Group group = group_of(all.front());
  const Rows rows = rows_of(all, group);
  std::vector<Series> series = rates_of(rows);
  if (series.empty()) return std::nullopt;
  std::stable_sort(series.begin(), series.end(),
                   [](const Series& a, const Series& b) { return best(a) > best(b); });
  if (series.size() > 8) series.resize(8);
  return Plot{group.text() + ", " + std::string(name(all.front().dtype)),
              {"tokens", Scale::log2, short_count},
              {"TFLOP/s", Scale::linear},
              series,
              ""};
}

}  // namespace flashbook::bench
