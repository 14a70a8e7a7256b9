#include "walkthrough/line_table.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/places.hpp"
#include "walkthrough/text_width.hpp"

namespace flashbook {
namespace {

using json = nlohmann::ordered_json;
using simt::LineCounts;
using simt::Traffic;

constexpr std::size_t page_width = 80, least_source = 12;
constexpr std::size_t table_indent = 2;  // that table() gives; columns are scarce here
constexpr double wasteful = 1.25;        // times the ideal

/// A line of a kernel's source that executed something counted.
struct Line {
  simt::Site site;
  LineCounts counts;
};

Traffic sum(Traffic a, const Traffic& b) {
  a.instructions += b.instructions;
  a.cost += b.cost;
  a.ideal += b.ideal;
  return a;
}

std::vector<Line> lines_of(const simt::Report& report) {
  std::vector<Line> lines;
  for (std::size_t id = 1; id < report.lines.size(); ++id)
    if (report.lines[id].anything())
      lines.push_back({simt::site_of(static_cast<simt::SiteId>(id)), report.lines[id]});
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    const std::string x = a.site.file, y = b.site.file;
    return x != y ? x < y : a.site.line < b.site.line;
  });
  return lines;
}

/// The path of a source file from the repository's root: "cuda/forward/one_pass.cuh".
std::string path_of(const std::string& file) {
  for (const char* room : {"/cuda/", "/walkthrough/"})
    if (const std::size_t at = file.rfind(room); at != std::string::npos)
      return file.substr(at + 1);
  return file;
}

/// Lines of source files, read once. Without the sources there is no text.
class Sources {
 public:
  std::string text(const simt::Site& site) {
    std::vector<std::string>& lines = files_[site.file];
    if (lines.empty()) lines = read(path_of(site.file));
    if (site.line > lines.size()) return "";
    const std::string& line = lines[site.line - 1];
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  }

 private:
  static std::vector<std::string> read(const std::string& path) {
    std::ifstream in(sources_folder() / path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  std::map<std::string, std::vector<std::string>> files_;
};

std::string number(std::uint64_t n) {
  return n == 0 ? "" : n < 10'000'000 ? std::to_string(n) : short_number(static_cast<double>(n));
}

bool is_wasteful(const Traffic& traffic) {
  return static_cast<double>(traffic.cost) >= wasteful * static_cast<double>(traffic.ideal) &&
         traffic.cost > 0;
}

std::string ratio(const Traffic& traffic) {
  if (traffic.instructions == 0) return "";
  const double times = static_cast<double>(traffic.cost) /
                       static_cast<double>(std::max<std::uint64_t>(traffic.ideal, 1));
  return fixed(times, 2) + (is_wasteful(traffic) ? "!" : " ");
}

/// Columns of a table: what heads them, and what they say of a line, empty for nothing.
struct Columns {
  std::vector<std::string> heading;
  std::vector<std::string> (*cells)(const LineCounts&);
};

std::vector<std::string> cells_of_every_gpu(const LineCounts& c) {
  const Traffic global = sum(c.global_load, c.global_store),
                shared = sum(c.shared_load, c.shared_store);
  return {number(global.cost), ratio(global),          number(shared.cost), ratio(shared),
          number(c.mma),       number(c.ldmatrix),     number(c.exp2),      number(c.shuffles),
          number(c.barriers),  number(c.async_copies), number(c.atomics)};
}

Columns columns_of_every_gpu() {
  return {{"sectors", "ideal", "waves", "ideal", "mma", "ldm", "exp2", "shfl", "bar", "cp.async",
           "atomics"},
          cells_of_every_gpu};
}

/// "L2" only where less is read there than is written: outside the tensor, or of a multicast.
std::vector<std::string> hopper_cells(const LineCounts& c) {
  return {number(c.tma),
          number(c.tma_load_bytes),
          c.tma_l2_bytes == c.tma_load_bytes ? "" : number(c.tma_l2_bytes),
          number(c.tma_store_bytes),
          number(c.mbarrier_arrivals + c.mbarrier_waits),
          number(c.wgmma),
          number(c.setmaxnreg)};
}

Columns columns_of_hopper() {
  return {{"TMA", "in", "L2", "out", "mbar", "wgmma", "regs"}, hopper_cells};
}

/// Those that have something to say in these columns.
std::vector<Line> counted_in(const Columns& columns, const std::vector<Line>& lines) {
  std::vector<Line> out;
  for (const Line& line : lines) {
    const std::vector<std::string> cells = columns.cells(line.counts);
    if (std::any_of(cells.begin(), cells.end(), [](const auto& cell) { return !cell.empty(); }))
      out.push_back(line);
  }
  return out;
}

/// Without the columns that nothing stands in.
std::vector<std::vector<std::string>> narrowed(std::vector<std::vector<std::string>> rows) {
  for (std::size_t column = rows[0].size(); column-- > 1;) {
    const bool is_empty = std::all_of(rows.begin() + 1, rows.end(),
                                      [&](const auto& row) { return row[column].empty(); });
    if (!is_empty) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return rows;
}

std::vector<std::string> row_of(const std::string& name, std::vector<std::string> numbers) {
  numbers.insert(numbers.begin(), name);
  return numbers;
}

/// The table without the source text: a heading, the lines, their total.
std::vector<std::string> number_lines(const Columns& columns, const std::vector<Line>& lines,
                                      const LineCounts& total) {
  std::vector<std::vector<std::string>> rows = {row_of("line", columns.heading)};
  for (const Line& line : lines)
    rows.push_back(row_of(simt::text(line.site), columns.cells(line.counts)));
  rows.push_back(row_of("total", columns.cells(total)));
  std::istringstream text(table(narrowed(rows)));
  std::vector<std::string> out;
  for (std::string line; std::getline(text, line);) out.push_back(line.substr(table_indent));
  return out;
}

/// The text of the lines marked '!', where the table has no room for it.
std::string wasteful_lines(const Columns& columns, const std::vector<Line>& lines,
                           Sources& sources) {
  std::string out;
  for (const Line& line : lines) {
    const std::vector<std::string> cells = columns.cells(line.counts);
    if (std::none_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return cell.ends_with('!'); }))
      continue;
    const std::string place = "! " + simt::text(line.site) + "  ";
    out += place + cut(sources.text(line.site), page_width - width_of(place)) + "\n";
  }
  return out;
}

/// What each line executed, beside its text as far as the width of a page allows.
std::string line_table(const Columns& columns, const std::vector<Line>& all,
                       const LineCounts& total) {
  const std::vector<Line> lines = counted_in(columns, all);
  Sources sources;
  std::vector<std::string> source = {"source"};
  for (const Line& line : lines) source.push_back(sources.text(line.site));
  source.emplace_back();  // beside the total

  const std::vector<std::string> numbers = number_lines(columns, lines, total);
  std::size_t width = 0;
  for (const std::string& line : numbers) width = std::max(width, width_of(line));
  const bool fits = width + 2 + least_source <= page_width;
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out += numbers[i];
    if (fits && !source[i].empty())
      out += std::string(width + 2 - width_of(numbers[i]), ' ') +
             cut(source[i], page_width - width - 2);
    out += "\n";
  }
  return fits ? out : out + wasteful_lines(columns, lines, sources);
}

std::string hopper_legend(const LineCounts& total) {
  std::string out =
      "TMA: its copies; in, out: their bytes, into and out of shared memory; mbar:\n"
      "arrivals and waits at mbarriers";
  out += total.setmaxnreg ? "; regs: setmaxnreg." : ".";
  if (total.tma_l2_bytes != total.tma_load_bytes)
    out += " L2: bytes in of the\ntensor, once for a multicast.";
  return out + "\n";
}

json traffic_json(const Traffic& traffic, const char* unit) {
  return {{"instructions", traffic.instructions}, {unit, traffic.cost}, {"ideal", traffic.ideal}};
}

}  // namespace

std::string costs_and_findings(const simt::Report& report) {
  const std::vector<Line> lines = lines_of(report);
  const LineCounts total = report.total();
  std::string out =
      line_table(columns_of_every_gpu(), lines, total) +
      "sectors: of global memory, 32 bytes; waves: wavefronts of shared memory; ideal:\n"
      "times as many as needed, ! where wasteful. Instructions are a warp's.\n";
  if (total.uses_hopper())
    out += "\n" + line_table(columns_of_hopper(), lines, total) + hopper_legend(total);
  return out + findings_of(report);
}

std::string findings_of(const simt::Report& report) {
  if (report.clean()) return "No race, no uninitialised read, nothing out of bounds.\n";
  std::string out = "\nFound:\n";
  for (const simt::Finding& finding : report.findings) out += wrapped(finding.text(), 4);
  return out;
}

json counts_json(const LineCounts& c) {
  return {{"global_load", traffic_json(c.global_load, "sectors")},
          {"global_store", traffic_json(c.global_store, "sectors")},
          {"shared_load", traffic_json(c.shared_load, "wavefronts")},
          {"shared_store", traffic_json(c.shared_store, "wavefronts")},
          {"mma", c.mma},
          {"mma_flops", c.mma_flops},
          {"ldmatrix", c.ldmatrix},
          {"exp2", c.exp2},
          {"shuffles", c.shuffles},
          {"barriers", c.barriers},
          {"async_copies", c.async_copies},
          {"atomics", c.atomics},
          {"tma", c.tma},
          {"tma_load_bytes", c.tma_load_bytes},
          {"tma_l2_bytes", c.tma_l2_bytes},
          {"tma_store_bytes", c.tma_store_bytes},
          {"mbarrier_arrivals", c.mbarrier_arrivals},
          {"mbarrier_waits", c.mbarrier_waits},
          {"wgmma", c.wgmma},
          {"setmaxnreg", c.setmaxnreg}};
}

json lines_json(const simt::Report& report) {
  Sources sources;
  json all = json::array();
  for (const Line& line : lines_of(report)) {
    json object = {{"file", path_of(line.site.file)},
                   {"line", line.site.line},
                   {"source", sources.text(line.site)}};
    object.update(counts_json(line.counts));
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace flashbook
