#pragma once

#include <string>
#include <vector>

namespace flashbook::book {

enum class Face { plain, strong, emphasis, code, link };

/// A piece of a word: "(`m`)," is three.
struct Fragment {
  Face face;
  std::string text;
};

/// What no line break may divide. A short code span is one word, spaces included: formulas stay
/// whole.
using Word = std::vector<Fragment>;

/// [text](target), as it stood in a paragraph.
struct Link {
  std::string text, target;
};

/// Markdown inside a paragraph: `code`, **strong**, *emphasis*, [links](target); comments are
/// left out. Links found are appended to `links`.
std::vector<Word> words_of(const std::string& markdown, std::vector<Link>& links);

/// The same without any faces, on one line.
std::string plain_text(const std::string& markdown);

/// Columns of a terminal: bytes that do not continue a UTF-8 sequence.
int columns_of(const std::string& text);
int columns_of(const Word& word);

/// Lines of at most so many columns; a word that is longer has a line of its own.
std::vector<std::vector<Word>> wrapped(const std::vector<Word>& words, int columns);

}  // namespace flashbook::book
