#include "walkthrough/book/exercises.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/book/child.hpp"
#include "walkthrough/places.hpp"

namespace flashbook::book {
namespace fs = std::filesystem;
namespace {

fs::path judges_folder() {
  return build_folder() / "walkthrough/chapters";
}

/// Where readers' answers are; tests have a folder of their own.
fs::path answers_folder() {
  const char* folder = std::getenv("FLASHBOOK_ANSWERS");
  return folder == nullptr ? sources_folder() / "my" : fs::path(folder);
}

Exercise exercise_in(const fs::path& folder, const Chapter& chapter) {
  const std::string type = fs::exists(folder / "start.cuh") ? ".cuh" : ".hpp";
  const std::string name = folder.filename().string();
  return {chapter.name.substr(0, 3) + name,
          name,
          folder,
          folder / ("start" + type),
          folder / ("solution" + type),
          answers_folder() / chapter.name / (name + type)};
}

/// What "answer.hpp" of the reader's judge includes. A declaration that the reader's file leaves
/// open shows at that file's end, and not in whatever is included next.
void point_judge_at(const Exercise& exercise) {
  const fs::path header = judges_folder() / exercise.id / "reader/answer.hpp";
  const std::string answer = fs::absolute(exercise.answer).lexically_normal().string();
  const std::string text =
      "#include \"" + answer + "\"\n#line 1 \"" + answer + ", at its end\"\nstatic_assert(true);\n";
  if (fs::exists(header) && text_of(header) == text) return;
  std::ofstream(header) << text;
}

/// Without what a build prints beside the compiler's errors, and with shorter paths.
std::string errors_in(const std::string& build_output) {
  static const std::regex noise(R"(\[|ninja: |In file included from| +from )");
  std::istringstream in(build_output);
  std::string errors;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("FAILED: ", 0) == 0) {
      std::getline(in, line);  // the command
    } else if (!std::regex_search(line, noise, std::regex_constants::match_continuous)) {
      errors += line + "\n";
    }
  }
  const std::string prefix = sources_folder().string() + "/";
  for (std::size_t at = 0; (at = errors.find(prefix, at)) != std::string::npos;)
    errors.erase(at, prefix.size());
  return errors;
}

}  // namespace

std::string Exercise::title() const {
  const std::string task = text_of(folder / "task.md");
  return task.substr(2, task.find('\n') - 2);
}

std::vector<Exercise> exercises_of(const Chapter& chapter) {
  std::vector<Exercise> found;
  const fs::path folder = chapter.file.parent_path() / "exercises";
  if (!fs::exists(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) found.push_back(exercise_in(entry.path(), chapter));
  const std::string text = text_of(chapter.file);
  const auto place = [&](const Exercise& exercise) {
    return text.find("(exercises/" + exercise.name + "/task.md)");
  };
  std::sort(found.begin(), found.end(),
            [&](const Exercise& a, const Exercise& b) { return place(a) < place(b); });
  return found;
}

Exercise find_exercise(const Chapter& chapter, const std::string& name) {
  std::string known;
  for (const Exercise& exercise : exercises_of(chapter)) {
    if (exercise.name == name) return exercise;
    known += (known.empty() ? "" : ", ") + exercise.name;
  }
  throw InputError("chapter " + std::to_string(chapter.number) + " has no exercise '" + name +
                   "': it has " + (known.empty() ? "none" : known));
}

Verdict judge(const Exercise& exercise) {
  if (!fs::exists(judges_folder() / exercise.id))
    throw InputError("the judges are not in " + judges_folder().string() +
                     ": run ./book check in a clone of flashbook");
  point_judge_at(exercise);
  const Child build =
      run_child({cmake_program(), "--build", build_folder(), "--target", "check_" + exercise.id});
  if (build.status != 0) return {Outcome::does_not_compile, errors_in(build.output)};
  const Child run = run_child({judges_folder() / ("check_" + exercise.id)});
  if (run.status == 0) return {Outcome::passes, run.output};
  if (run.status == 1) return {Outcome::fails, run.output};
  return {Outcome::fails,
          run.output + "  it ended with status " + std::to_string(run.status) + "\n"};
}

}  // namespace flashbook::book
