#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "walkthrough/book/chapters.hpp"

namespace flashbook::book {

/// A folder of the chapter: a task, a start, a solution, and a judge that is a CMake target.
struct Exercise {
  std::string id;    ///< of its target: 02_merge
  std::string name;  ///< of its folder: merge
  std::filesystem::path folder, start, solution;
  std::filesystem::path answer;  ///< the reader's file: my/02_online_softmax/merge.hpp

  std::string title() const;  ///< the heading of its task
};

/// In the order in which the chapter tells of them.
std::vector<Exercise> exercises_of(const Chapter& chapter);

/// Throws InputError naming the argument and what there is.
Exercise find_exercise(const Chapter& chapter, const std::string& name);

enum class Outcome { passes, fails, does_not_compile };

struct Verdict {
  Outcome outcome;
  std::string reason;  ///< the compiler's errors, or what the judge printed
};

/// Builds the judge with the reader's file and runs it. Throws InputError where this program has no
/// sources and build folder, that is, where it was installed.
Verdict judge(const Exercise& exercise);

}  // namespace flashbook::book
