#include "walkthrough/step/step_picture.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "walkthrough/numbers.hpp"
#include "walkthrough/step/step_screen.hpp"
#include "walkthrough/step/tile_map.hpp"
#include "walkthrough/step/traffic_rows.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook::step {
namespace {

constexpr double width = 720, margin = 24, top = 104;
constexpr double map_side = 200;  // of the larger axis
constexpr double hbm_x = 290, arrow_x = 400, sram_x = 520, box_width = 176, line = 26;

constexpr const char* style =
    ".skipped{fill:none;stroke:#bbb;stroke-dasharray:2 3}"
    ".to_come{fill:#eef1f5;stroke:#9aa5b1}"
    ".done{fill:#9db8d9;stroke:#5b7ba3}"
    ".now{fill:#e8853a;stroke:#9c4f13}"
    ".tile{fill:#dbe7f5;stroke:#5b7ba3}"
    ".arrow{stroke:#444;stroke-width:1.5;fill:none}"
    ".head{fill:#444}.quiet{fill:#666;font-size:12px}";
constexpr const char* dark =
    ".skipped{stroke:#555}"
    ".to_come{fill:#23272f;stroke:#5b6472}"
    ".done{fill:#3b5a80;stroke:#7fa3cf}"
    ".now{fill:#d9752b;stroke:#f2b183}"
    ".tile{fill:#2a3a50;stroke:#7fa3cf}"
    ".arrow{stroke:#ccc}.head{fill:#ccc}.quiet{fill:#aaa}";

std::string box(double x, double y, double w, double h, const char* kind) {
  std::ostringstream out;
  out << "<rect class=\"" << kind << "\" x=\"" << x << "\" y=\"" << y << "\" width=\"" << w
      << "\" height=\"" << h << "\" rx=\"2\"/>\n";
  return out.str();
}

/// A horizontal arrow from one x to another.
std::string arrow(double from, double to, double y) {
  const double tip = to > from ? 7 : -7;
  std::ostringstream out;
  out << "<path class=\"arrow\" d=\"M" << from << " " << y << "H" << to - tip << "\"/>"
      << "<path class=\"head\" d=\"M" << to << " " << y << "l" << -tip << " -4v8z\"/>\n";
  return out.str();
}

std::string quiet(double x, double y, const char* anchor, const std::string& text) {
  return text_at(x, y, anchor, text, " class=\"quiet\"");
}

// ---- the tiles of S

const char* kind_of(TileState state) {
  switch (state) {
    case TileState::skipped:
      return "skipped";
    case TileState::to_come:
      return "to_come";
    case TileState::now:
      return "now";
    case TileState::done:
      return "done";
  }
  return "";
}

double cell_of(const TileMap& map) {
  return std::min(36., map_side / static_cast<double>(std::max(map.rows, map.columns)));
}

bool skips_tiles(const TileMap& map) {
  for (Index i = 0; i < map.rows; ++i)
    for (Index j = 0; j < map.columns; ++j)
      if (map.at(i, j) == TileState::skipped) return true;
  return false;
}

std::string legend(const TileMap& map, double y) {
  std::string text;
  constexpr std::pair<const char*, const char*> kinds[] = {
      {"done", "done"}, {"now", "now"}, {"to_come", "to come"}, {"skipped", "skipped by the mask"}};
  for (std::size_t k = 0; k < (skips_tiles(map) ? 4 : 3); ++k) {
    const double x = margin + (k % 2 == 0 ? 0 : 84), at = y + (k < 2 ? 0 : 22);
    text += box(x, at, 12, 12, kinds[k].first) + quiet(x + 18, at + 11, "start", kinds[k].second);
  }
  return text;
}

std::string map_text(const TileMap& map) {
  if (map.rows == 0 || map.columns == 0) return "";
  const double cell = cell_of(map), gap = std::min(2., cell / 4), x = margin + 18, y = top + 18;
  std::string text = text_at(margin, top - 20, "start", "tiles of S");
  for (Index i = 0; i < map.rows; ++i)
    for (Index j = 0; j < map.columns; ++j)
      text += box(x + cell * static_cast<double>(j), y + cell * static_cast<double>(i), cell - gap,
                  cell - gap, kind_of(map.at(i, j)));
  const double right = x + cell * static_cast<double>(map.columns);
  const double bottom = y + cell * static_cast<double>(map.rows);
  return text + quiet((x + right) / 2, y - 6, "middle", "keys j →") +
         quiet(margin + 8, y + cell / 2 + 4, "middle", "i") +
         quiet(margin + 8, y + cell / 2 + 20, "middle", "↓") + legend(map, bottom + 16);
}

double map_bottom(const TileMap& map) {
  return top + 18 + cell_of(map) * static_cast<double>(std::max<Index>(map.rows, 1)) + 70;
}

// ---- what moves, and what SRAM holds

/// A lone l would be read as I.
std::string symbol_of(const std::string& tensor) {
  return tensor == "l" ? "ℓ" : tensor;
}

std::string traffic_text(const StepTraffic& traffic) {
  std::string text = text_at(hbm_x, top - 20, "start", "HBM") +
                     text_at((arrow_x + sram_x) / 2 - 10, top - 20, "middle", "elements moved");
  double y = top + 4;
  for (const TrafficRow& row : traffic.tensors) {
    if (row.here == Traffic{}) continue;
    const double from = arrow_x, to = sram_x - 20;
    text += text_at(hbm_x, y + 4, "start", symbol_of(row.name));
    if (row.here.read > 0)
      text += arrow(from, to, y) +
              quiet((from + to) / 2, y - 4, "middle", std::to_string(row.here.read));
    if (row.here.read > 0 && row.here.written > 0) y += line;
    if (row.here.written > 0)
      text += arrow(to, from, y) +
              quiet((from + to) / 2, y - 4, "middle", std::to_string(row.here.written));
    y += line;
  }
  return text;
}

double traffic_lines(const StepTraffic& traffic) {
  double lines = 0;
  for (const TrafficRow& row : traffic.tensors)
    lines += (row.here.read > 0) + (row.here.written > 0);
  return lines;
}

/// A box a tile, in the order of their places.
std::string sram_text(const io::Step& step) {
  std::string text =
      text_at(sram_x, top - 20, "start", "SRAM, " + std::to_string(step.resident_bytes) + " B");
  double y = top - 6;
  for (const io::ResidentTile& tile : step.resident) {
    text += box(sram_x, y, box_width, line - 3, "tile") +
            text_at(sram_x + 8, y + 16, "start",
                    symbol_of(tile.name) + " " + std::to_string(tile.rows) + " × " +
                        std::to_string(tile.columns)) +
            quiet(sram_x + box_width - 8, y + 16, "end", std::to_string(tile.bytes) + " B");
    y += line;
  }
  return text;
}

std::string sums_text(const TrafficRow& bytes, double y) {
  return quiet(hbm_x, y, "start",
               "this step: " + std::to_string(bytes.here.read) + " B read, " +
                   std::to_string(bytes.here.written) +
                   " B written; so far: " + std::to_string(bytes.so_far.read) + " B and " +
                   std::to_string(bytes.so_far.written) + " B");
}

}  // namespace

std::string picture_of(const StepRun& run, Index at) {
  const io::Step& step = run[at];
  const TileMap map = tile_map(run, at);
  const StepTraffic traffic = traffic_of(run, at);
  const double lines = std::max(traffic_lines(traffic), static_cast<double>(step.resident.size()));
  const double sums_y = top + line * lines + 16;
  const double height = std::max(map_bottom(map), sums_y + margin);
  const std::string title = std::string(run.algorithm->name) + ", " + place_of(run, at);
  return svg_head(width, height, title, style, dark) +
         svg_title(margin, 32, width - 2 * margin, title) +
         quiet(margin, 52, "start", run.about()) + map_text(map) + traffic_text(traffic) +
         sram_text(step) + sums_text(traffic.bytes, sums_y) + "</svg>\n";
}

}  // namespace flashbook::step
