#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flashbook::book {

/// How what is read looks.
struct Look {
  bool faces = false;  ///< bold and colours
  int columns = 80;
};

/// Faces where stdout may be coloured; as wide as a terminal, but no wider than 80.
Look look_of_stdout();

/// What stays together on a screen: a paragraph, a table, a listing. Lines without line breaks.
using Lines = std::vector<std::string>;

/// Whether the block is a heading with its ruling.
bool is_heading(const Lines& block);

/// The page as it stands on a terminal, block by block, and at its end where its links lead. `page`
/// is the file that holds the text, against which its links are resolved.
std::vector<Lines> render(const std::string& markdown, const std::filesystem::path& page,
                          const Look& look);

}  // namespace flashbook::book
