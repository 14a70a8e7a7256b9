#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "walkthrough/book/chapters.hpp"
#include "walkthrough/book/render.hpp"
#include "walkthrough/book/typeface.hpp"
#include "walkthrough/command_name.hpp"
#include "walkthrough/commands/commands.hpp"

namespace flashbook {
namespace {

using namespace book;

void list_chapters(const Look& look) {
  const Typeface face(look.faces);
  for (const Chapter& chapter : chapters()) {
    std::cout << face.strong(std::to_string(chapter.number) + ". " + chapter.title) << "\n";
    std::vector<Link> none;
    for (const auto& line : wrapped(words_of(chapter.question, none), look.columns - 3))
      std::cout << "   " << face(line) << "\n";
    std::cout << "   "
              << face.faint(std::to_string(chapter.minutes) + " minutes; needs " + chapter.needs)
              << "\n\n";
  }
  std::cout << command_name() << " read 1 shows the first, read 1 --step screen by screen; read "
            << "glossary explains the terms.\n";
}

void show(const std::filesystem::path& page, const Look& look) {
  bool first = true;
  for (const Lines& block : render(text_of(page), page, look)) {
    if (!first) std::cout << "\n";
    first = false;
    for (const std::string& line : block) std::cout << line << "\n";
  }
}

void read(const std::string& name) {
  const Look look = look_of_stdout();
  if (name.empty()) return list_chapters(look);
  if (name == "glossary" || name == "sources") return show(pages_folder() / (name + ".md"), look);
  show(find_chapter(name).file, look);
}

}  // namespace

void add_read(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("read", "the book: its chapters, or one of them");
  const auto name = std::make_shared<std::string>();
  verb->add_option("chapter", *name, "a number or a name, glossary or sources");
  verb->callback([name] { read(*name); });
}

}  // namespace flashbook
