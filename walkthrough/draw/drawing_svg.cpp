#include <sstream>

#include "walkthrough/draw/drawings.hpp"
#include "walkthrough/svg_text.hpp"

namespace flashbook::draw {
namespace {

constexpr double margin = 24, unit_x = 30, unit_y = 21, gap = 46;

constexpr const char* style =
    ".r0{fill:#dbe7f5}.r1{fill:#e3f0dc}.r2{fill:#f3e6f5}.r3{fill:#f7f0d8}"
    ".cell{stroke:#8b96a3;stroke-width:.7}.mine{fill:#e8853a;stroke:#9c4f13}"
    ".quiet{fill:#666;font-size:12px}.small{font-size:10.5px}";
constexpr const char* dark =
    ".r0{fill:#2a3a50}.r1{fill:#2c4030}.r2{fill:#412f48}.r3{fill:#45402a}"
    ".cell{stroke:#6b7583}.mine{fill:#b75a17;stroke:#f2b183}.quiet{fill:#aaa}";

std::string box(double x, double y, double w, double h, const std::string& kind) {
  std::ostringstream out;
  out << "<rect class=\"cell " << kind << "\" x=\"" << x << "\" y=\"" << y << "\" width=\"" << w
      << "\" height=\"" << h << "\"/>\n";
  return out.str();
}

std::string quiet(double x, double y, const char* anchor, const std::string& text) {
  return text_at(x, y, anchor, text, " class=\"quiet\"");
}

std::string small(double x, double y, const std::string& text) {
  return text_at(x, y, "middle", text, " class=\"small\"");
}

/// A cell's colour: its register's, or that of the lane to be shown.
std::string kind_of(const Place& place, int lane) {
  return place.lane == lane ? "mine" : "r" + std::to_string(place.number / 2);
}

/// Pairs of columns, with the lane and `names(n)` of the first of two numbers.
template <class Names>
std::string pairs(const Fragment& fragment, int columns, double x, double y, int lane,
                  const Names& names) {
  std::string out;
  for (int r = 0; r < fragment.rows; ++r)
    for (int c = 0; c < columns; c += 2) {
      const Place& place = fragment.at(r, c);
      const double left = x + c * unit_x, top = y + r * unit_y;
      out +=
          box(left, top, 2 * unit_x, unit_y, kind_of(place, lane)) +
          small(left + unit_x, top + 14.5, std::to_string(place.lane) + ": " + names(place.number));
    }
  return out;
}

/// B as [16, 8]: pairs of rows.
std::string pairs_of_B(const Fragment& B, double x, double y, int lane) {
  std::string out;
  for (int k = 0; k < 16; k += 2)
    for (int n = 0; n < 8; ++n) {
      const Place& place = B.at(n, k);
      const double left = x + n * unit_x, top = y + k * unit_y;
      out += box(left, top, unit_x, 2 * unit_y, kind_of(place, lane)) +
             small(left + unit_x / 2, top + 17, std::to_string(place.lane) + ":") +
             small(left + unit_x / 2, top + 32, "b" + std::to_string(place.number / 2));
    }
  return out;
}

std::string legend(int lane, double y) {
  const std::string who = "lane " + std::to_string(lane);
  return box(margin, y, 14, 14, "mine") + quiet(margin + 22, y + 12, "start", who) +
         quiet(margin, y + 40, "start", "A cell is a register, or two of d:") +
         quiet(margin, y + 58, "start", "13: a2 is a[2] of lane 13.") +
         quiet(margin, y + 88, "start", "A and B: numbers of 16 bits, two a register.") +
         quiet(margin, y + 106, "start", "D: fp32, one a register.");
}

}  // namespace

std::string product_svg(const Product& product, int lane) {
  const double right = margin + 16 * unit_x + gap, top = 84, below = top + 16 * unit_y + gap;
  const double width = right + 8 * unit_x + margin, height = below + 16 * unit_y + margin;
  const std::string title = "mma m16n8k16: who holds what";
  const auto register_of_A = [](int n) { return "a" + std::to_string(n / 2); };
  const auto registers_of_D = [](int n) {
    return "d" + std::to_string(n) + " d" + std::to_string(n + 1);
  };
  return svg_head(width, height, title, style, dark) +
         svg_title(margin, 34, width - 2 * margin, title) +
         quiet(margin, 56, "start", "D += A B by a warp; found by running it") +
         legend(lane, top + 16) + text_at(right, top - 10, "start", "B [16, 8]") +
         pairs_of_B(product.B, right, top, lane) +
         text_at(margin, below - 10, "start", "A [16, 16]") +
         pairs(product.A, 16, margin, below, lane, register_of_A) +
         text_at(right, below - 10, "start", "D [16, 8]") +
         pairs(product.D, 8, right, below, lane, registers_of_D) + "</svg>\n";
}

std::string banks_svg(const std::vector<Layout>& layouts) {
  const double top = 100, panel = 8 * unit_x, step = panel + gap;
  const double width = 2 * margin + static_cast<double>(layouts.size()) * step - gap;
  const double height = top + 8 * unit_y + 52;
  const std::string title = "Where 8 rows of 128 bytes lie in 32 banks";
  std::string out = svg_head(width, height, title, style, dark) +
                    svg_title(margin, 34, width - 2 * margin, title) +
                    quiet(margin, 56, "start",
                          "A cell is 16 bytes in 4 banks, its number the chunk of the row; "
                          "ldmatrix reads chunk 0 of each");
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const double x = margin + static_cast<double>(i) * step;
    out += text_at(x, top - 12, "start", layouts[i].name);
    for (std::size_t row = 0; row < 8; ++row)
      for (std::size_t g = 0; g < 8; ++g) {
        const int chunk = layouts[i].banks[row][g];
        const double left = x + static_cast<double>(g) * unit_x;
        const double y = top + static_cast<double>(row) * unit_y;
        out += box(left, y, unit_x, unit_y, chunk == 0 ? "mine" : "r0") +
               small(left + unit_x / 2, y + 14.5, std::to_string(chunk));
      }
    out += quiet(x, top + 8 * unit_y + 24, "start",
                 std::to_string(layouts[i].wavefronts) +
                     (layouts[i].wavefronts == 1 ? " wavefront" : " wavefronts"));
  }
  return out + "</svg>\n";
}

}  // namespace flashbook::draw
