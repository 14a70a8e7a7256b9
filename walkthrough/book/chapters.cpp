#include "walkthrough/book/chapters.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/book/inline_text.hpp"
#include "walkthrough/places.hpp"

namespace flashbook::book {
namespace fs = std::filesystem;
namespace {

constexpr const char* head_form =
    "# NUMBER. TITLE, then a quoted question (> …), then *Needs: …. NUMBER minutes.*";

Chapter read_head(const fs::path& file) {
  static const std::regex head(
      R"(^# (\d+)\. ([^\n]+)\n\n((?:> [^\n]+\n)+)\n\*Needs: ([^*]+)\. (\d+) minutes\.\*\n)");
  const std::string text = text_of(file);
  std::smatch match;
  if (!std::regex_search(text, match, head, std::regex_constants::match_continuous))
    throw InputError(file.string() + " does not begin as a chapter must: " + head_form);
  const std::string question = std::regex_replace(match.str(3), std::regex("(^|\n)> "), "$1");
  return {std::stoi(match[1]),
          file.parent_path().filename().string(),
          file,
          plain_text(match[2]),
          plain_text(question),
          plain_text(match[4]),
          std::stoi(match[5])};
}

bool is_called(const Chapter& chapter, const std::string& name) {
  return name == std::to_string(chapter.number) || name == chapter.name ||
         (chapter.name.size() > 3 && name == chapter.name.substr(3));
}

}  // namespace

fs::path pages_folder() {
  return book_folder() / "chapters";
}

std::vector<Chapter> chapters() {
  std::vector<Chapter> found;
  for (const auto& entry : fs::directory_iterator(pages_folder()))
    if (fs::exists(entry.path() / "chapter.md"))
      found.push_back(read_head(entry.path() / "chapter.md"));
  std::sort(found.begin(), found.end(),
            [](const Chapter& a, const Chapter& b) { return a.number < b.number; });
  return found;
}

Chapter find_chapter(const std::string& name) {
  std::ostringstream known;
  for (const Chapter& chapter : chapters()) {
    if (is_called(chapter, name)) return chapter;
    known << (known.tellp() > 0 ? ", " : "") << chapter.number << " (" << chapter.name.substr(3)
          << ")";
  }
  throw InputError("there is no chapter '" + name + "': there are " + known.str());
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(file.string() + " cannot be read: is it there?");
  return text.str();
}

}  // namespace flashbook::book
