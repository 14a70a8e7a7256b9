#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/book/exercises.hpp"
#include "walkthrough/book/render.hpp"
#include "walkthrough/book/typeface.hpp"
#include "walkthrough/command_name.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/progress.hpp"

namespace flashbook {
namespace {

using namespace book;
namespace fs = std::filesystem;

struct CheckFlags {
  std::string chapter, exercise;
  bool solution = false, reset = false;
};

void list_exercises() {
  for (const Chapter& chapter : chapters()) {
    std::cout << chapter.number << ". " << chapter.title << "\n";
    for (const Exercise& exercise : exercises_of(chapter))
      std::cout << "   " << exercise.name << ": " << exercise.title() << "\n";
  }
  std::cout << "\n" << command_name() << " check 1 starts and judges those of chapter 1.\n";
}

/// The path as the user would type it, where that is shorter.
std::string short_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path relative = whole.lexically_relative(fs::current_path());
  return relative.empty() || *relative.begin() == ".." ? whole.string() : relative.string();
}

/// The reader's file, if there is none yet, from the start.
bool begin(const Exercise& exercise) {
  if (fs::exists(exercise.answer)) return false;
  fs::create_directories(exercise.answer.parent_path());
  fs::copy_file(exercise.start, exercise.answer);
  return true;
}

/// The reader's file is kept beside the new one.
void reset(const Exercise& exercise) {
  if (!fs::exists(exercise.answer)) return;
  const fs::path kept = exercise.answer.string() + ".old";
  fs::rename(exercise.answer, kept);
  std::cout << "what was there is now " << short_path(kept) << "\n";
}

void show_task(const Exercise& exercise) {
  const fs::path task = exercise.folder / "task.md";
  for (const Lines& block : render(text_of(task), task, look_of_stdout())) {
    for (const std::string& line : block) std::cout << line << "\n";
    std::cout << "\n";
  }
}

bool check(const Exercise& exercise, const CheckFlags& flags) {
  const Typeface face(look_of_stdout().faces);
  if (flags.reset) reset(exercise);
  const bool first = begin(exercise);
  if (first)
    show_task(exercise);
  else
    std::cout << face.strong(exercise.title()) << "\n";

  const Progress progress("building the judge");
  progress.show(exercise.name);
  const Verdict verdict = judge(exercise);
  progress.clear();
  switch (verdict.outcome) {
    case Outcome::passes:
      std::cout << face.strong("passes") << "\n" << verdict.reason << "\n";
      return true;
    case Outcome::fails:
      std::cout << face.strong(first ? "not yet" : "fails") << "\n" << verdict.reason;
      break;
    case Outcome::does_not_compile:
      std::cout << face.strong("does not compile") << "\n" << verdict.reason;
      break;
  }
  std::cout << (first ? "Now edit " : "edit ") << short_path(exercise.answer)
            << (first ? ", and run this command again." : "") << "\n\n";
  return false;
}

void check(const CheckFlags& flags) {
  if (flags.chapter.empty()) return list_exercises();
  const Chapter chapter = find_chapter(flags.chapter);
  std::vector<Exercise> exercises = exercises_of(chapter);
  if (!flags.exercise.empty()) exercises = {find_exercise(chapter, flags.exercise)};
  if (flags.solution || flags.reset) {
    if (exercises.size() != 1)
      throw InputError(std::string(flags.solution ? "--solution" : "--reset") +
                       " is for one exercise: name it, as in check " + flags.chapter + " " +
                       exercises.front().name);
  }
  if (flags.solution) {
    std::cout << text_of(exercises.front().solution);
    return;
  }
  bool passed = true;
  for (const Exercise& exercise : exercises) passed &= check(exercise, flags);
  if (!passed) throw CLI::RuntimeError(1);
}

}  // namespace

void add_check(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("check", "the book's exercises: start one, have it judged");
  const auto flags = std::make_shared<CheckFlags>();
  verb->add_option("chapter", flags->chapter, "a number or a name; without one, all are listed");
  verb->add_option("exercise", flags->exercise,
                   "one of the chapter's, for you to edit in my/; without one, all of them");
  verb->add_flag("--solution", flags->solution, "show a solution");
  verb->add_flag("--reset", flags->reset, "begin again from the start; what you have is kept");
  verb->callback([flags] { check(*flags); });
}

}  // namespace flashbook
