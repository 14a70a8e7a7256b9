#include "walkthrough/svg_text.hpp"

#include <algorithm>
#include <sstream>

namespace flashbook {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<'   ? std::string("&lt;")
           : c == '>' ? std::string("&gt;")
           : c == '&' ? std::string("&amp;")
                      : std::string(1, c);
  return out;
}

}  // namespace

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more) {
  std::ostringstream out;
  out << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\"" << more << ">"
      << escaped(text) << "</text>\n";
  return out.str();
}

std::string svg_head(double width, double height, const std::string& title,
                     const std::string& style, const std::string& dark) {
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << " " << height
      << "\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
      << "<title>" << escaped(title) << "</title>\n"
      << "<style>\n"
      << "text{fill:#1a1a1a}.paper{fill:#fff}" << style << "\n"
      << "@media(prefers-color-scheme:dark){text{fill:#eee}.paper{fill:#16181d}" << dark
      << "}\n</style>\n"
      << "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
  return out.str();
}

std::string svg_title(double x, double y, double width, const std::string& text) {
  constexpr double widths_of_a_letter = .64;  // of its size, bold
  const double size =
      std::min(16., width / (widths_of_a_letter * static_cast<double>(text.size())));
  std::ostringstream attributes;
  attributes << " font-size=\"" << size << "\" font-weight=\"600\"";
  return text_at(x, y, "start", text, attributes.str());
}

}  // namespace flashbook
