#include <algorithm>
#include <array>
#include <sstream>

#include "walkthrough/plot_axes.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook {
namespace {

constexpr double width = 760, height = 490, left = 96, right = 200, top = 56, bottom = 84;

/// Told apart on white and on near-black, also by most of the colour-blind.
const std::array<const char*, 8> colours = {"#1f83d0", "#d55e00", "#009e73", "#c25fa0",
                                            "#b8860b", "#3aa0c9", "#8b6cd8", "#7f7f7f"};

double x_of(const Axes& axes, double x) {
  return left + axes.x.place(x) * (width - left - right);
}
double y_of(const Axes& axes, double y) {
  return height - bottom - axes.y.place(y) * (height - top - bottom);
}

std::string grid(const Plot& plot, const Axes& axes) {
  std::ostringstream out;
  for (const double x : axes.x.ticks()) {
    out << "<path class=\"grid\" d=\"M" << x_of(axes, x) << " " << top << "V" << height - bottom
        << "\"/>\n"
        << text_at(x_of(axes, x), height - bottom + 18, "middle", plot.x.tick(x));
  }
  for (const double y : axes.y.ticks())
    out << "<path class=\"grid\" d=\"M" << left << " " << y_of(axes, y) << "H" << width - right
        << "\"/>\n"
        << text_at(left - 8, y_of(axes, y) + 4, "end", plot.y.tick(y));
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

std::string legend(const std::string& otherwise) {
  std::ostringstream out;
  const double y = height - bottom + 62;
  out << "<circle class=\"key dot\" cx=\"" << left + 6 << "\" cy=\"" << y - 4 << "\" r=\"4\"/>"
      << text_at(left + 16, y, "start", "executed") << "<circle class=\"key open\" cx=\""
      << left + 96 << "\" cy=\"" << y - 4 << "\" r=\"4\"/>"
      << text_at(left + 106, y, "start", otherwise);
  return out.str();
}

}  // namespace

std::string svg(const Plot& plot) {
  const Axes axes = axes_of(plot);
  std::ostringstream out;
  out << svg_head(width, height, plot.title,
                  ".dot{fill:#1a1a1a}.open{fill:#fff}.grid{stroke:#ddd}"
                  ".key{stroke:#1a1a1a;stroke-width:2}",
                  ".dot{fill:#eee}.open{fill:#16181d}.grid{stroke:#3a3d45}.key{stroke:#eee}")
      << svg_title(left, 28, width - left, plot.title) << grid(plot, axes)
      << text_at((left + width - right) / 2, height - bottom + 38, "middle", plot.x.label)
      << text_at(0, 0, "middle", plot.y.label,
                 " transform=\"translate(20 " + short_number((top + height - bottom) / 2) +
                     ") rotate(-90)\"");
  for (std::size_t s = 0; s < plot.series.size(); ++s)
    out << line(axes, plot.series[s], colours.at(s));
  out << line_names(axes, plot) << (plot.otherwise.empty() ? "" : legend(plot.otherwise))
      << "</svg>\n";
  return out.str();
}

}  // namespace flashbook
