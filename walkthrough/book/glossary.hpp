#pragma once

#include <string>

namespace flashbook::book {

/// The glossary's entry for a term, as its heading or its link spells it ("L2 cache", "l2-cache"),
/// in any letters; else all entries whose heading holds it; else nothing. Markdown.
std::string glossary_entries(const std::string& glossary, const std::string& term);

}  // namespace flashbook::book
