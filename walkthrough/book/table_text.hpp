#pragma once

#include "walkthrough/book/inline_text.hpp"
#include "walkthrough/book/render.hpp"

namespace flashbook::book {

/// The rows of a Markdown table, the first its heading, columns aligned; where that is wider than
/// the terminal, the widest column's cells are wrapped.
Lines table_lines(const std::vector<std::string>& rows, const Look& look, std::vector<Link>& links);

}  // namespace flashbook::book
