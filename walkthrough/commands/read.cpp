#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/book/chapters.hpp"
#include "walkthrough/book/glossary.hpp"
#include "walkthrough/book/render.hpp"
#include "walkthrough/book/screens.hpp"
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
  const std::string command = command_name() + " read ";
  std::cout << command << "1           a chapter, by number or name\n"
            << command << "1 --step    screen by screen, by key\n"
            << command << "glossary    what the terms mean\n"
            << command_name() << " check 1          its exercises, judged\n";
}

void print(const std::filesystem::path& page) {
  bool first = true;
  for (const Lines& block : render(text_of(page), page, look_of_stdout())) {
    if (!first) std::cout << "\n";
    first = false;
    for (const std::string& line : block) std::cout << line << "\n";
  }
}

/// Leaves room for the line that names the keys, and a blank one above it.
void step(const std::filesystem::path& page) {
  const std::string text = text_of(page);
  const Keyboard keyboard;
  step_through(
      [&] { return screens_of(render(text, page, look_of_stdout()), terminal_size().lines - 2); },
      [&] { return keyboard.next(); }, std::cout);
}

/// The glossary's entry, or those whose terms hold the words.
void explain(const std::string& term) {
  const std::filesystem::path page = pages_folder() / "glossary.md";
  const std::string entries = glossary_entries(text_of(page), term);
  if (entries.empty())
    throw InputError("--term " + term + " is not in the glossary: " + command_name() +
                     " read glossary has all terms");
  for (const Lines& block : render(entries, page, look_of_stdout()))
    for (const std::string& line : block) std::cout << line << "\n";
}

std::filesystem::path page_called(const std::string& name) {
  if (name == "glossary" || name == "sources") return pages_folder() / (name + ".md");
  return find_chapter(name).file;
}

struct ReadFlags {
  std::string name, term;
  bool step = false;
};

void read(const ReadFlags& flags) {
  if (!flags.term.empty()) return explain(flags.term);
  if (flags.name.empty()) {
    if (flags.step)
      throw InputError("--step shows one page: name it, as in " + command_name() +
                       " read 1 --step");
    return list_chapters(look_of_stdout());
  }
  const std::filesystem::path page = page_called(flags.name);
  if (flags.step && is_interactive())
    step(page);
  else
    print(page);
}

}  // namespace

void add_read(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("read", "the book: its chapters, or one of them");
  const auto flags = std::make_shared<ReadFlags>();
  verb->add_option("chapter", flags->name,
                   "a number or a name, glossary or sources; without one, the list of chapters");
  verb->add_flag("--step", flags->step, "screen by screen, on a terminal");
  verb->add_option("--term", flags->term, "what the glossary says of a term")
      ->excludes("chapter")
      ->excludes("--step");
  verb->callback([flags] { read(*flags); });
}

}  // namespace flashbook
