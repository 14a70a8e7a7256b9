#pragma once

#include <string>

namespace flashbook {

/// Characters on the screen: bytes of UTF-8 that do not continue one.
std::size_t width_of(const std::string& text);

/// Bytes of the first so many characters, or of all.
std::size_t bytes_of_first(std::size_t characters, const std::string& text);

/// The text or, if it is wider than so many columns, its beginning and "…".
std::string cut(const std::string& text, std::size_t columns);

/// The text with lines of at most 80 columns, broken at spaces; what is broken off is indented.
std::string wrapped(const std::string& text, std::size_t indent);

}  // namespace flashbook
