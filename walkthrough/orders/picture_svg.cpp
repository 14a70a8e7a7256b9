#include <algorithm>
#include <sstream>

#include "walkthrough/numbers.hpp"
#include "walkthrough/orders/pictures.hpp"
#include "walkthrough/orders/shares.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook::orders {
namespace {

constexpr double margin = 20, label = 92, plot = 760, bar = 18, thin = 6, lane = 32, top = 78;
constexpr double heading = 30;  // above the lanes of an order

constexpr const char* style =
    ".softmax{fill:#e0a33e}.products{fill:#d9dde2}.turn{fill:#b9a5d6}.copies{fill:#e58e7d}"
    ".starts{fill:#5b7fb8}.runs{fill:#7fb069}"
    ".line{stroke:#c3c9d1;stroke-width:.7}.quiet{fill:#666;font-size:12px}";
constexpr const char* dark =
    ".softmax{fill:#a8741f}.products{fill:#3a414b}.turn{fill:#67548a}.copies{fill:#9c4a3b}"
    ".starts{fill:#6f8fc9}.runs{fill:#5d9444}.line{stroke:#4a525d}.quiet{fill:#aaa}";

const char* class_of(Activity activity) {
  static constexpr std::array<const char*, activities> classes = {"copies", "turn", "products",
                                                                  "softmax", "starts"};
  return classes[static_cast<std::size_t>(activity)];
}

/// A window of cycles as a stretch of the x-axis.
struct Axis {
  std::uint32_t first, cycles;

  double x(std::uint32_t cycle) const {
    return margin + label + plot * static_cast<double>(cycle - first) / cycles;
  }
  std::string box(const char* kind, std::uint32_t begin, std::uint32_t end, double y,
                  double height) const {
    const std::uint32_t from = std::max(begin, first), to = std::min(end, first + cycles);
    if (from >= to) return {};
    std::ostringstream out;
    out << "<rect class=\"" << kind << "\" x=\"" << fixed(x(from), 1) << "\" y=\"" << y
        << "\" width=\"" << fixed(x(to) - x(from), 1) << "\" height=\"" << height << "\"/>\n";
    return out.str();
  }
};

std::string lanes_of(const Stamps& stamps, const Axis& axis, double y) {
  std::string out;
  for (const Stretch& stretch : stretches_of(stamps))
    out += axis.box(class_of(stretch.activity), stretch.begin, stretch.end, y, bar);
  for (const Interval& interval : products_of(stamps))
    out += axis.box("runs", interval.begin, interval.end, y + bar + 1, thin);
  return out;
}

std::string legend(double y) {
  struct Entry {
    const char* kind;
    std::string text;
    double width;
  };
  std::vector<Entry> entries;
  for (const Activity a :
       {Activity::softmax, Activity::products, Activity::turn, Activity::copies, Activity::starts})
    entries.push_back({class_of(a), name(a), a == Activity::softmax ? 82. : 142.});
  entries.push_back({"runs", "its products under way", 0});
  std::ostringstream out;
  double x = margin;
  for (const Entry& entry : entries) {
    out << "<rect class=\"" << entry.kind << "\" x=\"" << x << "\" y=\"" << y
        << "\" width=\"11\" height=\"11\"/>\n"
        << text_at(x + 16, y + 10, "start", entry.text, " class=\"quiet\"");
    x += entry.width;
  }
  return out.str();
}

std::string scale(double y, std::uint32_t cycles, const char* unit) {
  std::ostringstream out;
  const std::uint32_t step = cycles / 6;
  for (std::uint32_t at = 0; at <= cycles; at += step) {
    const double x = margin + label + plot * at / cycles;
    out << "<line class=\"line\" x1=\"" << fixed(x, 1) << "\" y1=\"" << top << "\" x2=\""
        << fixed(x, 1) << "\" y2=\"" << y << "\"/>\n"
        << text_at(x, y + 16, "middle", std::to_string(at), " class=\"quiet\"");
  }
  return out.str() + text_at(margin, y + 16, "start", unit, " class=\"quiet\"");
}

}  // namespace

std::string svg_of(const Recording& recording, const std::vector<const OrderRecording*>& orders,
                   const Window& window) {
  const double order_height = heading + consumers * lane + 8;
  const double bottom = top + order_height * static_cast<double>(orders.size());
  const double width_of_all = margin + label + plot + margin;
  const std::string title = orders.size() == 1
                                ? orders.front()->name
                                : "One loop in " + std::to_string(orders.size()) + " orders";
  std::string out =
      svg_head(width_of_all, bottom + 64, title, style, dark) +
      svg_title(margin, 32, width_of_all - 2 * margin, title) +
      text_at(margin, 54, "start",
              "Two consumers of one block, as recorded on " + place_of(recording) +
                  "; N = " + std::to_string(recording.tokens) + ", d = " + std::to_string(width) +
                  ", from key tile " + std::to_string(window.tile) + " on",
              " class=\"quiet\"") +
      scale(bottom, window.cycles, recording.machine == Machine::gpu ? "cycles" : "steps");
  double y = top;
  for (const OrderRecording* order : orders) {
    const Axis axis = {begin_of_tile(order->consumers.front(), window.tile), window.cycles};
    out +=
        text_at(margin, y + 18, "start", order->name + ": " + order->what, " font-weight=\"600\"");
    for (std::size_t i = 0; i < order->consumers.size(); ++i) {
      const double at = y + heading + lane * static_cast<double>(i);
      out += text_at(margin, at + 14, "start", "consumer " + std::to_string(i)) +
             lanes_of(order->consumers[i], axis, at);
    }
    y += order_height;
  }
  return out + legend(bottom + 36) + "</svg>\n";
}

}  // namespace flashbook::orders
