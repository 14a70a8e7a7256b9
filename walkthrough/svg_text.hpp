#pragma once

#include <string>

/// What pictures have in common.
namespace flashbook {

/// A text element; `more` are further attributes.
std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "");

/// The beginning of a picture that follows the viewer's theme: `style` holds its own CSS rules, and
/// `dark` those that replace them on a dark ground.
std::string svg_head(double width, double height, const std::string& title,
                     const std::string& style, const std::string& dark);

/// A heading that starts at (x, y), in smaller letters if it would be wider than `width`.
std::string svg_title(double x, double y, double width, const std::string& text);

}  // namespace flashbook
