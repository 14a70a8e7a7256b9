#pragma once

#include "walkthrough/book/inline_text.hpp"
#include "walkthrough/book/render.hpp"

namespace flashbook::book {

/// Where a page's links lead, each target once, as a reader at a terminal gets there: a chapter or
/// a term by a command, a file by its path in the repository, the rest by its address.
Lines link_list(const std::vector<Link>& links, const std::filesystem::path& page,
                const Look& look);

}  // namespace flashbook::book
