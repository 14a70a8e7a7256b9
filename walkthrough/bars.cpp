#include "walkthrough/bars.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "walkthrough/number_table.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook {
namespace {

double longest(const BarChart& chart) {
  double most = 0;
  for (const Bar& bar : chart.bars) most = std::max(most, bar.whole);
  return most > 0 ? most : 1;
}

std::string repeated(const char* character, long times) {
  std::string out;
  for (long i = 0; i < times; ++i) out += character;
  return out;
}

// ---- SVG

constexpr double left = 130, bar_width = 420, right = 210, top = 78, step = 24, bar_height = 14;
constexpr double width = left + bar_width + right;

std::string rectangle(const char* kind, double x, double y, double w) {
  std::ostringstream out;
  out << "<rect class=\"" << kind << "\" x=\"" << x << "\" y=\"" << y << "\" width=\"" << w
      << "\" height=\"" << bar_height << "\"/>\n";
  return out.str();
}

std::string bar_in_svg(const Bar& bar, double y, double scale) {
  return rectangle("rest", left, y, bar.whole * scale) +
         rectangle("used", left, y, bar.used * scale) +
         text_at(left - 8, y + 12, "end", bar.label) +
         text_at(left + bar.whole * scale + 8, y + 12, "start", bar.note);
}

std::string legend(double y, const std::string& rest) {
  return rectangle("used", left, y, bar_height) + text_at(left + 22, y + 12, "start", "used") +
         rectangle("rest", left + 80, y, bar_height) + text_at(left + 102, y + 12, "start", rest);
}

}  // namespace

std::string svg(const BarChart& chart) {
  const double scale = bar_width / longest(chart);
  const double height = top + step * static_cast<double>(chart.bars.size()) + 44;
  std::ostringstream out;
  out << svg_head(width, height, chart.title, ".used{fill:#1f83d0}.rest{fill:#ddd}",
                  ".rest{fill:#4a4e58}")
      << svg_title(24, 30, width - 24, chart.title) << text_at(24, 54, "start", chart.unit);
  double y = top;
  for (const Bar& bar : chart.bars) {
    out << bar_in_svg(bar, y, scale);
    y += step;
  }
  out << legend(y + 8, chart.rest) << "</svg>\n";
  return out.str();
}

std::string in_characters(const BarChart& chart) {
  constexpr double columns = 36;
  const double scale = columns / longest(chart);
  std::vector<std::vector<std::string>> rows;
  for (const Bar& bar : chart.bars) {
    const long whole = std::lround(bar.whole * scale), used = std::lround(bar.used * scale);
    std::string cells = repeated("█", used) + repeated("░", whole - used);
    cells.append(static_cast<std::size_t>(columns) - static_cast<std::size_t>(whole), ' ');
    rows.push_back({bar.label, cells, bar.note});
  }
  return chart.title + "\n" + chart.unit + "\n█ used, ░ " + chart.rest + "\n\n" + table(rows);
}

}  // namespace flashbook
