#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// The book: Markdown pages that read well as they are, on the web and in an editor.
namespace flashbook::book {

/// One chapter, as the head of its chapter.md describes it:
///
///     # 2. Online softmax
///
///     > Softmax needs the whole row. Who says so?
///
///     *Needs: [chapter 1](../01_memory_wall/chapter.md). 15 minutes.*
struct Chapter {
  int number;
  std::string name;  ///< of its folder: 02_online_softmax
  std::filesystem::path file;
  std::string title, question;
  std::string needs;  ///< "nothing", or chapters, as plain text
  int minutes;
};

/// Where the pages are.
std::filesystem::path pages_folder();

/// In order. Throws InputError naming a chapter.md without a proper head.
std::vector<Chapter> chapters();

/// By number, by its folder's name or by that without the number: 2, 02_online_softmax,
/// online_softmax. Throws InputError naming the argument and what there is.
Chapter find_chapter(const std::string& name);

/// The file's whole text. Throws InputError naming the file.
std::string text_of(const std::filesystem::path& file);

}  // namespace flashbook::book
