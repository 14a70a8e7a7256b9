#include "walkthrough/book/link_list.hpp"

#include <set>

#include "walkthrough/book/chapters.hpp"
#include "walkthrough/book/typeface.hpp"
#include "walkthrough/command_name.hpp"

namespace flashbook::book {
namespace fs = std::filesystem;
namespace {

/// The chapter's number, from its folder's: "03_tiling" is 3.
std::string number_of(const fs::path& chapter) {
  return std::to_string(std::stoi(chapter.parent_path().filename().string()));
}

std::string way_to(const std::string& target, const fs::path& page) {
  if (target.find("://") != std::string::npos) return target;
  const std::size_t hash = target.find('#');
  if (hash == 0) return "";  // on this page
  const fs::path file = (page.parent_path() / target.substr(0, hash)).lexically_normal();
  const std::string read = command_name() + " read ";
  if (file.filename() == "chapter.md") return read + number_of(file);
  if (file.filename() == "glossary.md")
    return read + (hash == std::string::npos ? "glossary" : "--term " + target.substr(hash + 1));
  if (file.filename() == "sources.md") return read + "sources";
  if (file.filename() == "task.md")
    return command_name() + " check " + number_of(file.parent_path().parent_path()) + " " +
           file.parent_path().filename().string();
  return fs::relative(file, pages_folder() / "../..").string();
}

}  // namespace

Lines link_list(const std::vector<Link>& links, const fs::path& page, const Look& look) {
  const Typeface face(look.faces);
  std::set<std::string> seen;
  Lines lines;
  for (const Link& link : links) {
    const std::string way = way_to(link.target, page);
    if (way.empty() || !seen.insert(way).second) continue;
    const std::string name = plain_text(link.text);
    lines.push_back(std::string("  ").append(name == way ? "" : name + ": ").append(way));
  }
  if (!lines.empty()) lines.insert(lines.begin(), face.strong("Links"));
  return lines;
}

}  // namespace flashbook::book
