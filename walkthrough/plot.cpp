#include "walkthrough/plot.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

namespace flashbook {
namespace {

/// A logarithmic axis over [least, most], both powers of `base`, mapped to [0, 1].
class LogAxis {
 public:
  LogAxis(double least, double most, double base) : base_(base) {
    first_ = std::floor(std::log(least) / std::log(base) + 1e-9);
    last_ = std::max(first_ + 1, std::ceil(std::log(most) / std::log(base) - 1e-9));
  }

  double place(double value) const {
    return (std::log(value) / std::log(base_) - first_) / (last_ - first_);
  }
  std::vector<double> ticks() const {
    std::vector<double> values;
    for (double power = first_; power <= last_; ++power) values.push_back(std::pow(base_, power));
    return values;
  }

 private:
  double base_, first_, last_;
};

struct Axes {
  LogAxis x, y;
};

Axes axes_of(const Plot& plot) {
  double least_x = std::numeric_limits<double>::max(), least_y = least_x, most_x = 0, most_y = 0;
  for (const Series& series : plot.series)
    for (const Point& point : series.points) {
      least_x = std::min(least_x, point.x);
      most_x = std::max(most_x, point.x);
      least_y = std::min(least_y, point.y);
      most_y = std::max(most_y, point.y);
    }
  return {LogAxis(least_x, most_x, 2), LogAxis(least_y, most_y, 10)};
}

/// At most three significant digits.
std::string number(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

// ---- SVG ----

constexpr double width = 760, height = 490, left = 96, right = 200, top = 56, bottom = 84;

const std::array<const char*, 6> colours = {"#1f83d0", "#d55e00", "#009e73",
                                            "#c25fa0", "#b8860b", "#3aa0c9"};

double x_of(const Axes& axes, double x) {
  return left + axes.x.place(x) * (width - left - right);
}
double y_of(const Axes& axes, double y) {
  return height - bottom - axes.y.place(y) * (height - top - bottom);
}

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "") {
  std::ostringstream out;
  out << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\"" << more << ">"
      << text << "</text>\n";
  return out.str();
}

std::string grid(const Axes& axes) {
  std::ostringstream out;
  for (const double x : axes.x.ticks()) {
    out << "<path class=\"grid\" d=\"M" << x_of(axes, x) << " " << top << "V" << height - bottom
        << "\"/>\n"
        << text_at(x_of(axes, x), height - bottom + 18, "middle", short_count(x));
  }
  for (const double y : axes.y.ticks())
    out << "<path class=\"grid\" d=\"M" << left << " " << y_of(axes, y) << "H" << width - right
        << "\"/>\n"
        << text_at(left - 8, y_of(axes, y) + 4, "end", short_bytes(y));
  return out.str();
}

std::string line(const Axes& axes, const Series& series, const std::string& colour) {
  std::ostringstream out;
  out << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"2\" points=\"";
  for (const Point& point : series.points)
    out << x_of(axes, point.x) << "," << y_of(axes, point.y) << " ";
  out << "\"/>\n";
  for (const Point& point : series.points)
    out << "<circle cx=\"" << x_of(axes, point.x) << "\" cy=\"" << y_of(axes, point.y)
        << "\" r=\"4\" stroke=\"" << colour << "\" stroke-width=\"2\" "
        << (point.executed ? "fill=\"" + colour + "\"" : std::string("class=\"open\"")) << "/>\n";
  return out.str();
}

/// Names stand at the ends of their lines, moved apart where they would overlap.
std::string line_names(const Axes& axes, const Plot& plot) {
  struct Label {
    double y;
    std::string text, colour;
  };
  std::vector<Label> labels;
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    labels.push_back(
        {y_of(axes, plot.series[s].points.back().y) + 4, plot.series[s].name, colours.at(s)});
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
  std::string out;
  double free = top;
  for (Label& label : labels) {
    label.y = std::max(label.y, free);
    free = label.y + 16;
    out += text_at(width - right + 12, label.y, "start", label.text,
                   " style=\"fill:" + label.colour + ";font-weight:600\"");
  }
  return out;
}

std::string legend() {
  std::ostringstream out;
  const double y = height - bottom + 62;
  out << "<circle class=\"key dot\" cx=\"" << left + 6 << "\" cy=\"" << y - 4 << "\" r=\"4\"/>"
      << text_at(left + 16, y, "start", "executed") << "<circle class=\"key open\" cx=\""
      << left + 96 << "\" cy=\"" << y - 4 << "\" r=\"4\"/>"
      << text_at(left + 106, y, "start", "from a formula");
  return out.str();
}

// ---- Characters ----

constexpr int columns = 56, rows = 18, margin = 10;

using Canvas = std::vector<std::string>;

int column_of(const Axes& axes, double x) {
  return static_cast<int>(std::lround(axes.x.place(x) * (columns - 1)));
}
int row_of(const Axes& axes, double y) {
  return rows - 1 - static_cast<int>(std::lround(axes.y.place(y) * (rows - 1)));
}

void draw_line(const Axes& axes, const Series& series, char letter, Canvas& canvas) {
  const auto put = [&](double x, double y, char mark) {
    canvas[static_cast<std::size_t>(row_of(axes, y))]
          [static_cast<std::size_t>(column_of(axes, x))] = mark;
  };
  for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
    const Point a = series.points[i], b = series.points[i + 1];
    const int steps = column_of(axes, b.x) - column_of(axes, a.x);
    for (int step = 1; step < steps; ++step) {
      const double t = static_cast<double>(step) / steps;
      put(a.x * std::pow(b.x / a.x, t), a.y * std::pow(b.y / a.y, t), '.');
    }
  }
  for (const Point& point : series.points)
    put(point.x, point.y, point.executed ? static_cast<char>(std::toupper(letter)) : letter);
}

std::string padded(const std::string& text, int to) {
  std::string out = text;
  while (static_cast<int>(out.size()) < to) out.insert(out.begin(), ' ');
  return out;
}

std::string x_ticks(const Axes& axes) {
  std::string ticks(static_cast<std::size_t>(columns + 8), ' ');
  for (const double x : axes.x.ticks()) {
    const std::string text = short_count(x);
    ticks.replace(static_cast<std::size_t>(column_of(axes, x)), text.size(), text);
  }
  while (!ticks.empty() && ticks.back() == ' ') ticks.pop_back();
  return std::string(margin + 2, ' ') + ticks + "\n";
}

}  // namespace

std::string short_count(double value) {
  const char* suffix[] = {"", "k", "M", "G"};
  int power = 0;
  for (; value >= 1024 && power < 3; ++power) value /= 1024;
  return number(value) + suffix[power];
}

std::string short_bytes(double bytes) {
  const char* suffix[] = {" B", " kB", " MB", " GB", " TB", " PB"};
  int power = 0;
  for (; bytes >= 999.5 && power < 5; ++power) bytes /= 1000;
  return number(bytes) + suffix[power];
}

std::string svg(const Plot& plot) {
  const Axes axes = axes_of(plot);
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << " " << height
      << "\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
      << "<title>" << plot.title << "</title>\n"
      << "<style>\n"
      << "text,.dot{fill:#1a1a1a}.paper,.open{fill:#fff}.grid{stroke:#ddd}"
      << ".key{stroke:#1a1a1a;stroke-width:2}\n"
      << "@media(prefers-color-scheme:dark){text,.dot{fill:#eee}.paper,.open{fill:#16181d}"
      << ".grid{stroke:#3a3d45}.key{stroke:#eee}}\n</style>\n"
      << "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      << text_at(left, 28, "start", plot.title, " font-size=\"16\" font-weight=\"600\"")
      << grid(axes)
      << text_at((left + width - right) / 2, height - bottom + 38, "middle", plot.x_label)
      << text_at(0, 0, "middle", plot.y_label,
                 " transform=\"translate(20 " + number((top + height - bottom) / 2) +
                     ") rotate(-90)\"");
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    out << line(axes, plot.series[s], colours.at(s));
  out << line_names(axes, plot) << legend() << "</svg>\n";
  return out.str();
}

std::string in_characters(const Plot& plot) {
  const Axes axes = axes_of(plot);
  Canvas canvas(rows, std::string(columns, ' '));
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    draw_line(axes, plot.series[s], static_cast<char>('a' + s), canvas);
  std::vector<std::string> labels(rows);
  for (const double y : axes.y.ticks())
    labels[static_cast<std::size_t>(row_of(axes, y))] = short_bytes(y);

  std::string out = plot.title + "\n" + plot.y_label + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    std::string cells = canvas[row];
    while (!cells.empty() && cells.back() == ' ') cells.pop_back();
    out += padded(labels[row], margin) + " |" + cells + "\n";
  }
  out += std::string(margin + 1, ' ') + "+" + std::string(columns, '-') + "\n" + x_ticks(axes) +
         std::string(margin + 2, ' ') + plot.x_label + "\n";
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const char letter = static_cast<char>('a' + s);
    out += std::string(margin + 2, ' ') + letter + "  " + plot.series[s].name + "\n";
  }
  return out + std::string(margin + 2, ' ') + "Capital: executed. Small: from a formula.\n";
}

}  // namespace flashbook
