#include <algorithm>

#include "walkthrough/number_table.hpp"
#include "walkthrough/ring/timeline.hpp"

namespace flashbook::ring {
namespace {

constexpr std::size_t number_width = 3, gap = 2;

/// ".", "~2", "2" or "2*".
std::string text_of(const Content& content) {
  std::string tile = std::to_string(content.tile);
  switch (content.state) {
    case Content::State::empty:
      return ".";
    case Content::State::filling:
      return "~" + tile;
    case Content::State::full:
      return tile;
    case Content::State::used:
      break;
  }
  return tile + "*";
}

/// The copy engine has the first column.
std::size_t column_of(const Moment& moment) {
  const int column = moment.actor + 1;
  return static_cast<std::size_t>(column);
}

/// A column for the copy engine, then one an actor.
std::vector<std::size_t> widths_of(const Timeline& timeline) {
  std::vector<std::size_t> widths = {std::string("copies").size()};
  for (const std::string& actor : timeline.actors) widths.push_back(actor.size());
  for (const Moment& moment : timeline.moments) {
    std::size_t& width = widths[column_of(moment)];
    width = std::max(width, moment.what.size());
  }
  return widths;
}

std::string without_blanks_behind(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string heading(const Timeline& timeline, const std::vector<std::size_t>& widths) {
  std::string line = std::string(number_width + gap, ' ') + left("copies", widths[0] + gap);
  for (std::size_t i = 0; i < timeline.actors.size(); ++i)
    line += left(timeline.actors[i], widths[i + 1] + gap);
  for (const std::string& stage : timeline.stages) line += left(stage, 4);
  return without_blanks_behind(line);
}

}  // namespace

std::string text_of(const Timeline& timeline) {
  const std::vector<std::size_t> widths = widths_of(timeline);
  std::string out = heading(timeline, widths);
  for (std::size_t i = 0; i < timeline.moments.size(); ++i) {
    const Moment& moment = timeline.moments[i];
    std::string line = right(std::to_string(i + 1), number_width) + std::string(gap, ' ');
    for (std::size_t column = 0; column < widths.size(); ++column)
      line += left(column == column_of(moment) ? moment.what : "", widths[column] + gap);
    for (const Content& content : moment.stages) line += left(text_of(content), 4);
    out += without_blanks_behind(line);
  }
  return out + "Stages: ~2 tile 2 is being copied, 2 it is there, 2* it is in use, . given back.\n";
}

}  // namespace flashbook::ring
