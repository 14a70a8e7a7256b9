#include <algorithm>
#include <cctype>
#include <cmath>

#include "walkthrough/plot_axes.hpp"

namespace flashbook {
namespace {

constexpr int columns = 56, rows = 18, margin = 10;

using Canvas = std::vector<std::string>;

int column_of(const Axes& axes, double x) {
  return static_cast<int>(std::lround(axes.x.place(x) * (columns - 1)));
}
int row_of(const Axes& axes, double y) {
  return rows - 1 - static_cast<int>(std::lround(axes.y.place(y) * (rows - 1)));
}

void draw_line(const Axes& axes, const Series& series, char letter, Canvas& canvas) {
  const auto put = [&](int row, int column, char mark) {
    canvas[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = mark;
  };
  for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
    const Point &a = series.points[i], &b = series.points[i + 1];
    const int row = row_of(axes, a.y), down = row_of(axes, b.y) - row;
    const int column = column_of(axes, a.x), across = column_of(axes, b.x) - column;
    const int steps = std::max(std::abs(down), std::abs(across));
    for (int step = 1; step < steps; ++step)
      put(row + down * step / steps, column + across * step / steps, '.');
  }
  for (const Point& point : series.points)
    put(row_of(axes, point.y), column_of(axes, point.x),
        point.executed ? static_cast<char>(std::toupper(letter)) : letter);
}

std::string padded(const std::string& text, int to) {
  std::string out = text;
  while (static_cast<int>(out.size()) < to) out.insert(out.begin(), ' ');
  return out;
}

/// Labels below the axis, but those that would touch the one before.
std::string x_ticks(const Plot& plot, const Axes& axes) {
  std::string ticks;
  for (const double x : axes.x.ticks()) {
    const std::string text = plot.x.tick(x);
    const std::size_t column = static_cast<std::size_t>(column_of(axes, x));
    if (!ticks.empty() && column <= ticks.size()) continue;
    if (column + text.size() > columns + 8) break;
    ticks.resize(column, ' ');
    ticks += text;
  }
  return std::string(margin + 2, ' ') + ticks + "\n";
}

}  // namespace

std::string in_characters(const Plot& plot) {
  const Axes axes = axes_of(plot);
  Canvas canvas(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    draw_line(axes, plot.series[s], static_cast<char>('a' + s), canvas);
  std::vector<std::string> labels(rows);
  for (const double y : axes.y.ticks())
    labels[static_cast<std::size_t>(row_of(axes, y))] = plot.y.tick(y);

  std::string out = plot.title + "\n" + plot.y.label + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    std::string cells = canvas[row];
    while (!cells.empty() && cells.back() == ' ') cells.pop_back();
    out += padded(labels[row], margin) + " |" + cells + "\n";
  }
  out += std::string(margin + 1, ' ') + "+" + std::string(columns, '-') + "\n" +
         x_ticks(plot, axes) + std::string(margin + 2, ' ') + plot.x.label + "\n";
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const char letter = static_cast<char>('a' + s);
    out += std::string(margin + 2, ' ') + letter + "  " + plot.series[s].name + "\n";
  }
  return out + std::string(margin + 2, ' ') + "Capital: executed. Small: " + plot.otherwise + ".\n";
}

}  // namespace flashbook
