#include "walkthrough/book/inline_text.hpp"

#include <algorithm>

#include "walkthrough/text_width.hpp"

namespace flashbook::book {
namespace {

constexpr int longest_whole_code = 40;

/// Cuts Markdown into words.
class Reader {
 public:
  Reader(const std::string& text, std::vector<Link>& links) : text_(text), links_(links) {}

  std::vector<Word> words() {
    while (at_ < text_.size())
      if (!(take_end() || take_comment() || take_code() || take_link() ||
            take_between("**", Face::strong) || take_between("*", Face::emphasis)))
        take_character();
    end_word();
    return std::move(words_);
  }

 private:
  /// Text with a face of its own, up to the mark that closes it.
  struct Span {
    std::size_t end, mark_size;
    Face face;
  };

  Face face() const { return spans_.empty() ? Face::plain : spans_.back().face; }
  std::size_t limit() const { return spans_.empty() ? text_.size() : spans_.back().end; }

  bool take_end() {
    if (spans_.empty() || at_ < spans_.back().end) return false;
    at_ = std::max(at_, spans_.back().end + spans_.back().mark_size);  // code may hide the mark
    spans_.pop_back();
    return true;
  }

  void take_character() {
    if (text_[at_] == '\\' && at_ + 1 < limit()) ++at_;  // the next one as it is
    add(text_[at_++], face());
  }

  bool starts(const std::string& mark) const { return text_.compare(at_, mark.size(), mark) == 0; }

  bool take_comment() {
    if (!starts("<!--")) return false;
    const std::size_t end = text_.find("-->", at_);
    if (end == std::string::npos) return false;
    at_ = end + 3;
    return true;
  }

  bool take_code() {
    if (text_[at_] != '`') return false;
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string::npos) return false;
    const std::string code = text_.substr(at_ + 1, end - at_ - 1);
    const bool whole = columns_of(code) <= longest_whole_code;
    for (const char c : code)
      if (whole)
        append(c, Face::code);
      else
        add(c, Face::code);
    at_ = end + 1;
    return true;
  }

  bool take_link() {
    if (text_[at_] != '[') return false;
    const std::size_t middle = text_.find("](", at_), end = text_.find(')', middle);
    if (middle == std::string::npos || end >= limit()) return false;
    if (text_.find('[', at_ + 1) < middle) return false;  // "[FA1] … [a link](…)"
    const std::size_t begin = at_ + 1;
    links_.push_back(
        {text_.substr(begin, middle - begin), text_.substr(middle + 2, end - middle - 2)});
    spans_.push_back({middle, end + 1 - middle, face() == Face::plain ? Face::link : face()});
    at_ = begin;
    return true;
  }

  /// A mark that opens must touch what follows, one that closes what came before.
  bool take_between(const std::string& mark, Face inner) {
    const std::size_t begin = at_ + mark.size();
    if (!starts(mark) || face() == inner || begin >= limit() || text_[begin] == ' ') return false;
    const std::size_t end = text_.find(mark, begin);
    if (end == begin || end >= limit() || text_[end - 1] == ' ' || text_[end - 1] == '\\')
      return false;
    spans_.push_back({end, mark.size(), inner});
    at_ = begin;
    return true;
  }

  void add(char c, Face face) {
    if (c == ' ' || c == '\n')
      end_word();
    else
      append(c, face);
  }

  void append(char c, Face face) {
    if (word_.empty() || word_.back().face != face) word_.push_back({face, ""});
    word_.back().text += c == '\n' ? ' ' : c;
  }

  void end_word() {
    if (!word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
  }

  const std::string& text_;
  std::vector<Link>& links_;
  std::size_t at_ = 0;
  std::vector<Span> spans_;
  Word word_;
  std::vector<Word> words_;
};

}  // namespace

std::vector<Word> words_of(const std::string& markdown, std::vector<Link>& links) {
  return Reader(markdown, links).words();
}

std::string plain_text(const std::string& markdown) {
  std::vector<Link> links;
  std::string text;
  for (const Word& word : words_of(markdown, links)) {
    if (!text.empty()) text += ' ';
    for (const Fragment& fragment : word) text += fragment.text;
  }
  return text;
}

int columns_of(const std::string& text) {
  return static_cast<int>(width_of(text));
}

int columns_of(const Word& word) {
  int columns = 0;
  for (const Fragment& fragment : word) columns += columns_of(fragment.text);
  return columns;
}

std::vector<std::vector<Word>> wrapped(const std::vector<Word>& words, int columns) {
  std::vector<std::vector<Word>> lines(1);
  int used = 0;
  for (const Word& word : words) {
    const int width = columns_of(word);
    if (used > 0 && used + 1 + width > columns) {
      lines.emplace_back();
      used = 0;
    }
    used += width + (used > 0 ? 1 : 0);
    lines.back().push_back(word);
  }
  return lines;
}

}  // namespace flashbook::book
