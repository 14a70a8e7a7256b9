#include <sstream>

#include "walkthrough/ring/timeline.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook::ring {
namespace {

using Kind = Moment::Kind;
using State = Content::State;

constexpr double margin = 20, label = 96, unit = 11, lane = 26, bar = 18, top = 78;

constexpr const char* style =
    ".waits{fill:#d9dde2}.fills,.filling{fill:#f0c87a}.uses,.used{fill:#7fb069}"
    ".gives_back{fill:#c4552d}.full{fill:#cfe3c3}.registers{fill:#7a8fc4}"
    ".line{stroke:#c3c9d1;stroke-width:.7}.quiet{fill:#666;font-size:12px}.small{font-size:10.5px}";
constexpr const char* dark =
    ".waits{fill:#3a414b}.fills,.filling{fill:#8a6a24}.uses,.used{fill:#3f6b2d}"
    ".gives_back{fill:#b3552f}.full{fill:#2a4220}.registers{fill:#53689c}"
    ".line{stroke:#4a525d}.quiet{fill:#aaa}";

double x_of(std::size_t moment) {
  return margin + label + static_cast<double>(moment) * unit;
}

std::string box(const char* kind, std::size_t from, std::size_t to, double y) {
  std::ostringstream out;
  out << "<rect class=\"" << kind << "\" x=\"" << x_of(from) << "\" y=\"" << y << "\" width=\""
      << static_cast<double>(to - from) * unit << "\" height=\"" << bar << "\"/>\n";
  return out.str();
}

std::string line_below(double y, std::size_t moments) {
  std::ostringstream out;
  out << "<line class=\"line\" x1=\"" << margin << "\" y1=\"" << y << "\" x2=\"" << x_of(moments)
      << "\" y2=\"" << y << "\"/>\n";
  return out.str();
}

/// What a lane of an actor shows; nothing while it is done or goes on.
const char* class_of(Kind kind) {
  switch (kind) {
    case Kind::waits:
      return "waits";
    case Kind::fills:
      return "fills";
    case Kind::uses:
      return "uses";
    case Kind::gives_back:
      return "gives_back";
    case Kind::registers:
      return "registers";
    case Kind::done:
    case Kind::is_full:
      break;
  }
  return "";
}

const char* class_of(State state) {
  return state == State::filling ? "filling" : state == State::full ? "full" : "used";
}

/// Waiting and using last until the actor's next moment, all else is one moment wide.
std::string actor_lane(const Timeline& timeline, int actor, double y) {
  const auto& moments = timeline.moments;
  std::string out;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const Kind kind = moments[i].kind;
    if (moments[i].actor != actor || *class_of(kind) == 0) continue;
    std::size_t end = i + 1;
    if (kind == Kind::waits || kind == Kind::uses)
      while (end < moments.size() && moments[end].actor != actor) ++end;
    out += box(class_of(kind), i, end, y);
  }
  return out;
}

/// A box for each stretch in which the stage stays as it is, with the tile's number in the first.
std::string stage_lane(const Timeline& timeline, std::size_t stage, double y) {
  const auto& moments = timeline.moments;
  std::string out;
  for (std::size_t i = 0; i < moments.size();) {
    const Content& content = moments[i].stages[stage];
    std::size_t end = i + 1;
    while (end < moments.size() && moments[end].stages[stage] == content) ++end;
    if (content.state != State::empty) out += box(class_of(content.state), i, end, y);
    if (content.state == State::filling)
      out +=
          text_at(x_of(i) + 3, y + 13, "start", std::to_string(content.tile), " class=\"small\"");
    i = end;
  }
  return out;
}

std::string legend(double y) {
  const std::pair<const char*, const char*> entries[] = {{"waits", "waits"},
                                                         {"fills", "fills a stage"},
                                                         {"full", "full"},
                                                         {"uses", "uses a stage"},
                                                         {"gives_back", "gives back"}};
  std::string out;
  std::size_t at = 0;
  for (const auto& [kind, text] : entries) {
    out += box(kind, at, at + 1, y) +
           text_at(x_of(at) + unit + 6, y + 13, "start", text, " class=\"quiet\"");
    at += 11;
  }
  return out;
}

}  // namespace

std::string svg_of(const Timeline& timeline, const std::string& title) {
  const std::size_t moments = timeline.moments.size(), least = 56;  // the legend's
  const std::size_t lanes = timeline.actors.size() + timeline.stages.size();
  const double width = x_of(std::max(moments, least)) + margin;
  const double bottom = top + static_cast<double>(lanes) * lane;
  std::string out = svg_head(width, bottom + 52, title, style, dark) +
                    svg_title(margin, 32, width - 2 * margin, title) +
                    text_at(margin, 54, "start",
                            "One step after another, as the emulator executed them; a number is "
                            "the tile that a stage gets",
                            " class=\"quiet\"");
  double y = top;
  const auto add = [&](const std::string& name, const std::string& boxes) {
    out += text_at(margin, y + 13, "start", name) + boxes + line_below(y + bar + 4, moments);
    y += lane;
  };
  for (std::size_t i = 0; i < timeline.actors.size(); ++i)
    add(timeline.actors[i], actor_lane(timeline, static_cast<int>(i), y));
  for (std::size_t i = 0; i < timeline.stages.size(); ++i)
    add(timeline.stages[i], stage_lane(timeline, i, y));
  return out + legend(bottom + 16) + "</svg>\n";
}

}  // namespace flashbook::ring
