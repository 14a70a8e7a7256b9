#include "walkthrough/step/step_screen.hpp"

#include <algorithm>

#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/step/tile_map.hpp"
#include "walkthrough/step/traffic_rows.hpp"
#include "walkthrough/step/value_blocks.hpp"

namespace flashbook::step {
namespace {

// Magenta is legible on black and on white; yellow and cyan are not.
constexpr const char *bold = "\x1b[1m", *magenta = "\x1b[35m", *bold_magenta = "\x1b[1;35m",
                     *off = "\x1b[0m";

std::string inked(const std::string& text, const char* colour, Ink ink) {
  return ink == Ink::plain ? text : colour + text + off;
}

// ---- where the step is

std::string span(Index first, Index n) {
  return n == 1 ? std::to_string(first)
                : std::to_string(first) + "–" + std::to_string(first + n - 1);
}

std::string tile_text(const StepRun& run, const io::Step& step) {
  const auto& [i, j] = tile_index(run, step);
  const io::Range &rows = step.tile->rows, &keys = step.tile->keys;
  return "tile " + std::to_string(i) + "," + std::to_string(j) + ": queries " +
         span(rows.first, rows.size()) + ", keys " + span(keys.first, keys.size());
}

/// A step without a tile is known by what it writes.
std::string phase_text(const io::Step& step) {
  std::string text;
  for (const io::Step::Move& move : step.moves)
    if (move.kind != io::Listener::Move::load)
      text.append(text.empty() ? "writes " : ", ")
          .append(move.tensor)
          .append(" ")
          .append(span(move.region.row, move.region.rows));
  return text.empty() ? "reads alone" : text;
}

// ---- the numbers

std::string values_text(const io::Step& step, Ink ink) {
  std::vector<Block> blocks;
  for (const io::Step::Shown& shown : step.shown) blocks.push_back(block_of(shown, step.find("S")));
  std::string text;
  for (const Block& row : in_rows(blocks)) {
    text += "\n" + inked(row.front(), magenta, ink) + "\n";
    for (std::size_t line = 1; line < row.size(); ++line) text += row[line] + "\n";
  }
  return text;
}

// ---- the map beside the traffic

constexpr Index most_mapped = 8;                     // tiles of an axis
constexpr Index map_width = 26, map_margin = 5 + 2;  // the traffic takes the rest of the screen

const char* mark_of(TileState state) {
  switch (state) {
    case TileState::skipped:
      return "·";
    case TileState::to_come:
      return "□";
    case TileState::now:
      return "◆";
    case TileState::done:
      return "■";
  }
  return "";
}

/// The part of an axis that is drawn: around the tile of now, where there are many.
io::Range window(Index n, Index now, Index most) {
  const Index first = std::clamp<Index>(now - most / 2, 0, std::max<Index>(n - most, 0));
  return {first, std::min(n, first + most)};
}

TileIndex now_of(const TileMap& map) {
  const auto now = std::find(map.states.begin(), map.states.end(), TileState::now);
  const Index at = now == map.states.end() ? 0 : now - map.states.begin();
  return {at / map.columns, at % map.columns};
}

std::string cut_mark(bool is_cut) {
  return is_cut ? " …" : "";
}

Block map_block(const TileMap& map) {
  if (map.rows == 0 || map.columns == 0) return {};
  const TileIndex now = now_of(map);
  const std::size_t cell = std::to_string(map.columns - 1).size();
  const Index fitting = (map_width - map_margin) / static_cast<Index>(cell + 1);
  const io::Range rows = window(map.rows, now.i, most_mapped);
  const io::Range columns = window(map.columns, now.j, std::min(most_mapped, fitting));
  Block block = {"tiles of S", right("j", 5)};
  for (Index j = columns.first; j < columns.last; ++j)
    block.back() += " " + right(std::to_string(j), cell);
  block.back() += cut_mark(columns.size() < map.columns);
  for (Index i = rows.first; i < rows.last; ++i) {
    block.push_back((i == rows.first ? "i" : " ") + right(std::to_string(i), 4));
    for (Index j = columns.first; j < columns.last; ++j)
      block.back() += " " + right(mark_of(map.at(i, j)), cell);
  }
  if (rows.size() < map.rows) block.push_back(right("⋮", 5));
  block.push_back("");
  block.push_back("■ done  ◆ now");
  block.push_back("□ to come");
  if (const Index skipped = map.count(TileState::skipped); skipped > 0)
    block.push_back("· skipped: " + std::to_string(skipped));
  return block;
}

std::string with_now_inked(std::string text, Ink ink) {
  const std::string plain = mark_of(TileState::now), marked = inked(plain, bold_magenta, ink);
  for (std::size_t at = text.find(plain); at != std::string::npos;
       at = text.find(plain, at + marked.size()))
    text.replace(at, plain.size(), marked);
  return text;
}

std::string map_and_traffic(const StepRun& run, Index at, Ink ink) {
  const Block map = map_block(tile_map(run, at)), traffic = traffic_block(run, at);
  const std::size_t width = map.empty() ? 0 : map_width;
  std::string text;
  for (std::size_t line = 0; line < std::max(map.size(), traffic.size()); ++line) {
    std::string row = "  " + left(line < map.size() ? map[line] : "", width) +
                      (line < traffic.size() ? traffic[line] : "");
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return with_now_inked(std::move(text), ink);
}

// ---- what SRAM holds

std::string sram_text(const StepRun& run, const io::Step& step) {
  std::string text = "  SRAM holds", line = text;
  text.clear();
  for (const io::ResidentTile& tile : step.resident) {
    const std::string shape = tile.columns == 1
                                  ? std::to_string(tile.rows)
                                  : std::to_string(tile.rows) + "×" + std::to_string(tile.columns);
    const std::string word =
        " " + tile.name + " " + shape + (&tile == &step.resident.back() ? ":" : ",");
    if (width_of(line + word) > 78) {
      text += line + "\n";
      line = std::string(12, ' ');
    }
    line += word;
  }
  const std::string sum = " " + std::to_string(step.resident_bytes) + " B (peak " +
                          std::to_string(run.report.peak_sram_bytes) + " B)";
  if (width_of(line + sum) > 80) {
    text += line + "\n";
    line = std::string(12, ' ');
  }
  return text + line + sum + "\n";
}

}  // namespace

std::string place_of(const StepRun& run, Index at) {
  const io::Step& step = run[at];
  const AttentionProblem& p = run.problem();
  const bool has_tile = step.tile && run.algorithm->takes.blocks;
  std::string text = "step " + std::to_string(at + 1) + " of " + std::to_string(run.size()) + ", " +
                     (has_tile ? tile_text(run, step) : phase_text(step));
  if (step.tile && p->members > 1) text += ", batch " + std::to_string(step.tile->member.index);
  if (step.tile && p->heads_q > 1) text += ", head " + std::to_string(step.tile->head);
  if (run.steps.back().kernel > 0)
    text += "; kernel " + std::to_string(step.kernel + 1) + " of " +
            std::to_string(run.steps.back().kernel + 1);
  return text;
}

std::string screen_of(const StepRun& run, Index at, Ink ink) {
  const io::Step& step = run[at];
  return inked(place_of(run, at), bold, ink) + "\n" + values_text(step, ink) + "\n" +
         map_and_traffic(run, at, ink) + "\n" + sram_text(run, step);
}

std::string heading_of(const StepRun& run, Ink ink) {
  return inked(std::string(run.algorithm->name) + ": " + std::string(run.algorithm->title), bold,
               ink) +
         "\n" + run.about() + "\n";
}

}  // namespace flashbook::step
