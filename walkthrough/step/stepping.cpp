#include "walkthrough/step/stepping.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>

#include "walkthrough/step/tile_map.hpp"

namespace flashbook::step {
namespace {

constexpr const char* help =
    "n next  b back  f first  l last  j jump to a step or a tile i,j  q quit";

std::optional<Index> number_in(const std::string& text) {
  Index number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::optional<TileIndex> tile_in(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto i = number_in(text.substr(0, comma)), j = number_in(text.substr(comma + 1));
  if (!i || !j) return std::nullopt;
  return TileIndex{*i, *j};
}

Place jump_to_tile(const StepRun& run, Index at, const TileIndex& tile) {
  const TileMap map = tile_map(run, at);
  if (map.states.empty()) return {at, "this run has no tiles: jump to a step by its number"};
  for (Index n = 1; n <= run.size(); ++n) {
    const Index t = (at + n) % run.size();
    if (run[t].tile && tile_index(run, run[t]) == tile) return {t};
  }
  const std::string name = "tile " + std::to_string(tile.i) + "," + std::to_string(tile.j);
  if (tile.i >= 0 && tile.i < map.rows && tile.j >= 0 && tile.j < map.columns)
    return {at, name + " is skipped: the mask hides all of it"};
  return {at, "there is no " + name + ": i is 0 to " + std::to_string(map.rows - 1) +
                  ", j is 0 to " + std::to_string(map.columns - 1)};
}

/// Spaces are not part of a name.
std::string without_spaces(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out += c;
  return out;
}

/// Nothing: the reader quits.
std::optional<Place> after(const StepRun& run, const Place& place, const Key& key,
                           const KeySource& next_key, std::ostream& out) {
  const Index at = place.at;
  if (key.is('q') || key.kind == Key::escape || key.kind == Key::end_of_input) return std::nullopt;
  if (key.is('n') || key.is(' ') || key.kind == Key::enter || key.kind == Key::right ||
      key.kind == Key::down || key.kind == Key::page_down)
    return next(run, at);
  if (key.is('b') || key.kind == Key::erase || key.kind == Key::left || key.kind == Key::up ||
      key.kind == Key::page_up)
    return back(at);
  if (key.is('f') || key.kind == Key::home) return Place{0};
  if (key.is('l') || key.kind == Key::end) return Place{run.size() - 1};
  if (key.is('j')) {
    const auto name = read_line("\njump to: ", next_key, out);
    return name ? jump(run, at, *name) : Place{at};
  }
  return Place{at, "that key does nothing here"};
}

/// The step, a blank line, and what the reader is told: `help`, if nothing else.
std::string text_of(const StepRun& run, const Place& place, Ink ink, Index terminal_lines) {
  const std::string screen = screen_of(run, place.at, ink) + "\n";
  const std::string whole = heading_of(run, ink) + "\n" + screen;
  const auto lines = [](const std::string& text) {
    return 1 + std::count(text.begin(), text.end(), '\n');
  };
  const std::string& fitting = lines(whole) <= terminal_lines ? whole : screen;
  if (!place.message.empty()) return fitting + place.message;
  if (lines(fitting) <= terminal_lines) return fitting + help;
  return fitting + "too tall: " + std::to_string(lines(fitting)) + " lines, the terminal has " +
         std::to_string(terminal_lines) + "  n next  b back  j jump  q quit";
}

}  // namespace

Place next(const StepRun& run, Index at) {
  return at + 1 < run.size() ? Place{at + 1} : Place{at, "this is the last step"};
}

Place back(Index at) {
  return at > 0 ? Place{at - 1} : Place{at, "this is the first step"};
}

Place jump(const StepRun& run, Index at, const std::string& typed) {
  const std::string name = without_spaces(typed);
  if (name.empty()) return {at};
  if (name == "first") return {0};
  if (name == "last") return {run.size() - 1};
  if (const auto tile = tile_in(name)) return jump_to_tile(run, at, *tile);
  const auto number = number_in(name);
  if (number && *number >= 1 && *number <= run.size()) return {*number - 1};
  return {at, "'" + name + "' is no step: type 1 to " + std::to_string(run.size()) +
                  ", a tile i,j, first or last"};
}

void step_by_key(const StepRun& run, const KeySource& next_key, std::ostream& out, Ink ink,
                 const std::function<Index()>& terminal_lines) {
  std::optional<Place> place = Place{};
  while (place) {
    out << clear_screen << text_of(run, *place, ink, terminal_lines()) << std::flush;
    place = after(run, *place, next_key(), next_key, out);
  }
  out << "\n";
}

}  // namespace flashbook::step
