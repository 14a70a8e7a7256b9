// How a chapter looks on a terminal: Markdown to lines, lines to screens, screens by key.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "walkthrough/book/chapters.hpp"
#include "walkthrough/book/glossary.hpp"
#include "walkthrough/book/inline_text.hpp"
#include "walkthrough/book/screens.hpp"
#include "walkthrough/chapters/judge.hpp"

namespace flashbook::book {
namespace {

const std::filesystem::path page = "/book/walkthrough/chapters/01_one/chapter.md";

std::string joined(const std::vector<Lines>& blocks) {
  std::string text;
  for (const Lines& block : blocks) {
    if (!text.empty()) text += "\n";
    for (const std::string& line : block) text += line + "\n";
  }
  return text;
}

std::string rendered(const std::string& markdown, int columns = 40, bool faces = false) {
  return joined(render(markdown, page, {faces, columns}));
}

std::string without_faces(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9]+m"), "");
}

KeySource keys(std::vector<Key> typed) {
  return [typed, at = std::size_t{0}]() mutable {
    return at < typed.size() ? typed[at++] : Key{Key::end_of_input};
  };
}

/// The first lines of the screens that were shown, in order.
std::string shown(const std::vector<Lines>& screens, const std::vector<Key>& typed) {
  std::ostringstream out;
  step_through([&] { return screens; }, keys(typed), out);
  std::string firsts;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);)
    if (const std::size_t at = line.find(clear_screen); at != std::string::npos)
      firsts += line.substr(at + std::string(clear_screen).size());
  return firsts;
}

Key letter(char c) {
  return {Key::character, c};
}

}  // namespace

TEST_CASE("book: a paragraph is filled, and marks become faces or nothing") {
  CHECK(rendered("One *two* **three**\n`m′ = max(m, s)` and\nmore, `B_r`.", 24) ==
        "One two three\nm′ = max(m, s) and more,\nB_r.\n");
  CHECK(rendered("a *b* **c** `d`", 40, true) ==
        "a \x1b[3mb\x1b[0m \x1b[1mc\x1b[0m \x1b[35md\x1b[0m\n");
  CHECK(rendered("2 * 3 * 4, *a*b*, a_b_c, 5<!-- = 2 + 3 --> and \\*") ==
        "2 * 3 * 4, ab*, a_b_c, 5 and *\n");
  CHECK(rendered("2 * 3* 4") == "2 * 3* 4\n");
  CHECK(rendered("**a *b* c** and *d `e* f` g") == "a b c and d e* f g\n");
  CHECK(rendered("an [FA1, Table 2] and unclosed `code, [x](y") ==
        "an [FA1, Table 2] and unclosed `code,\n[x](y\n");
}

TEST_CASE("book: a short code span is not broken, a long one is") {
  CHECK(rendered("The score: `a + b + c`", 16) == "The score:\na + b + c\n");
  const std::string lines =
      rendered("`" + std::string(12, 'a') + " " + std::string(40, 'b') + "`", 16);
  CHECK(lines == std::string(12, 'a') + "\n" + std::string(40, 'b') + "\n");
}

TEST_CASE("book: headings, quotes, lists, pictures") {
  CHECK(rendered("# One\n\n> Why,\n> then?\n\n## Two `x`\n### Three") ==
        "One\n═══\n\n  Why, then?\n\nTwo x\n─────\n\nThree\n");
  CHECK(rendered("- a\n- b goes on\n  here\n1. c\n   - d", 14) ==
        "  • a\n  • b goes on\n    here\n  1. c\n    • d\n");
  CHECK(rendered("<!-- picture a.svg : sim bound -->\n![A slope](a.svg)", 60) ==
        "  [a.svg] A slope. Drawn here by: ./book sim bound\n");
}

TEST_CASE("book: code stands between rules, with its source; what is too long goes on below") {
  CHECK(rendered("<!-- code a.cpp : b -->\n```cpp\nint  x;\n0123456789abcdef\n```", 12) ==
        "── a.cpp : b \nint  x;\n0123456789ab\n↪ cdef\n────────────\n");
  CHECK(rendered("```console\n$ a\n0123 5678 0123 56\n01 3456789abcdefgh\n```", 12) ==
        "────────────\n$ a\n0123 5678\n↪ 0123 56\n01 3456789ab\n↪ cdefgh\n────────────\n");
  CHECK(rendered("<!-- code a : b -->\n```\nx\n```\n\n```\ny\n```", 12) ==
        "── a : b ───\nx\n────────────\n\n  y\n");
  CHECK(rendered("```console\n$ a\n````\n```", 8) == "────────\n$ a\n````\n────────\n");
}

TEST_CASE("book: what is in no file and was printed by no command is only indented") {
  CHECK(rendered("    S = QKᵀ\n      more\n\n````\n```\n````", 14) ==
        "  S = QKᵀ\n    more\n\n  ```\n");
}

TEST_CASE("book: a command is bold to the end of its last line, formulas are coloured") {
  const std::string text = rendered("```console\n$ ./book a \\\n      --b\nout\n```", 12, true);
  CHECK(text.find("\x1b[1m$ ./book a \\\x1b[0m\n\x1b[1m      --b\x1b[0m\nout\n") !=
        std::string::npos);
  CHECK(rendered("```\nx = y\n```", 12, true) == "  \x1b[35mx = y\x1b[0m\n");
}

TEST_CASE("book: of a difference, what is new is bold and what is gone is faint") {
  const std::string page_text = "<!-- diff a b : r -->\n```diff\n  x\n- y\n+ z + z + z\n```";
  CHECK(rendered(page_text, 10) == "── a → b ─\n  x\n- y\n+ z + z +\n↪ z\n──────────\n");
  const std::string faces = rendered(page_text, 10, true);
  CHECK(faces.find("  x\n\x1b[2m- y\x1b[0m\n\x1b[1m+ z + z +\x1b[0m\n\x1b[1m↪ z\x1b[0m\n") !=
        std::string::npos);
  CHECK(rendered("```cpp\n-x\n```", 8, true).find("\x1b[2m-x") == std::string::npos);
}

TEST_CASE("book: tables are aligned, and wrapped where they are too wide") {
  CHECK(rendered("| a | `bb` |\n|---|---:|\n| ccc | d |") == "  a    bb\n  ───────\n  ccc  d\n");
  CHECK(rendered("| a | b |\n|---|---|\n| one | two three four |", 16) ==
        "  a    b\n  ──────────────\n  one  two three\n       four\n");
}

TEST_CASE("book: a table's column is never narrower than its longest word") {
  CHECK(rendered("| a | b |\n|---|---|\n| unbreakable | one two |\n| c | d |", 18) ==
        "  a            b\n  ────────────────\n  unbreakable  one\n               two\n"
        "  c            d\n");
}

TEST_CASE("book: links are listed once, as ways to get there") {
  const std::string text = rendered(
      "[next](../02_two/chapter.md), [again](../02_two/chapter.md#x), [LSE](../glossary.md#lse), "
      "[here](#top), [task](exercises/merge/task.md), [web](https://a.b/c_d), "
      "[FA1](../sources.md#fa1)",
      200);
  CHECK(text.find("Links\n"
                  "  next: flashbook read 2\n"
                  "  LSE: flashbook read --term lse\n"
                  "  task: flashbook check 1 merge\n"
                  "  web: https://a.b/c_d\n"
                  "  FA1: flashbook read sources\n") != std::string::npos);
}

TEST_CASE("book: every chapter fits 80 columns, and faces change nothing else") {
  const std::vector<Chapter> all = chapters();
  REQUIRE(!all.empty());
  for (const Chapter& chapter : all) {
    CAPTURE(chapter.name);
    const std::string text = text_of(chapter.file);
    const std::string plain = joined(render(text, chapter.file, {false, 80}));
    CHECK(plain.find('\x1b') == std::string::npos);
    CHECK(plain.find("<!--") == std::string::npos);
    CHECK(without_faces(joined(render(text, chapter.file, {true, 80}))) == plain);
    std::istringstream in(plain);
    for (std::string line; std::getline(in, line);) {
      CAPTURE(line);
      CHECK((columns_of(line) <= 80 || line.find("://") != std::string::npos));
    }
  }
}

TEST_CASE("book: chapters are found by number and by name") {
  const std::vector<Chapter> all = chapters();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].minutes > 0);
    CHECK(!all[i].question.empty());
    CHECK((i == 0 || all[i - 1].number < all[i].number));
    for (const std::string& name :
         {std::to_string(all[i].number), all[i].name, all[i].name.substr(3)})
      CHECK(find_chapter(name).file == all[i].file);
  }
}

TEST_CASE("book: screens hold what fits, whole blocks, a heading with what it heads") {
  const Lines heading = {"Two", "───"}, three = {"a", "b", "c"};
  CHECK(screens_of({three, three}, 7) == std::vector<Lines>{{"a", "b", "c", "", "a", "b", "c"}});
  CHECK(screens_of({three, three}, 6) == std::vector<Lines>{three, three});
  CHECK(screens_of({three, heading, three}, 7) ==
        std::vector<Lines>{three, {"Two", "───", "", "a", "b", "c"}});
  const Lines lead = {"as follows:"};
  CHECK(screens_of({three, lead, three}, 5) ==
        std::vector<Lines>{three, {"as follows:", "", "a", "b", "c"}});
  CHECK(screens_of({three, lead, three}, 4) == std::vector<Lines>{three, lead, three});
  CHECK(screens_of({three}, 2) == std::vector<Lines>{{"a", "b"}, {"c"}});
  CHECK(screens_of({three}, 0) == std::vector<Lines>{{"a"}, {"b"}, {"c"}});
}

TEST_CASE("book: keys lead forward, back, to the ends, and out") {
  const std::vector<Lines> screens = {{"1"}, {"2"}, {"3"}};
  CHECK(shown(screens, {letter(' '), {Key::enter}, letter(' ')}) == "123");
  CHECK(shown(screens, {{Key::right}, {Key::down}, letter('b'), {Key::left}, {Key::left}}) ==
        "123211");
  CHECK(shown(screens, {{Key::end}, {Key::home}, letter('q'), letter(' ')}) == "131");
  CHECK(shown(screens, {letter('x'), {Key::unknown}, {Key::escape}, letter(' ')}) == "111");
}

TEST_CASE("book: the glossary by term") {
  const std::string glossary =
      "# Glossary\n\n## L2 cache\n\nA.\n\n## LSE\n\nB.\n\n## L2 cache line\n\nC.\n";
  CHECK(glossary_entries(glossary, "lse") == "## LSE\n\nB.\n\n");
  CHECK(glossary_entries(glossary, "l2-cache") == "## L2 cache\n\nA.\n\n");
  CHECK(glossary_entries(glossary, "Cache") == "## L2 cache\n\nA.\n\n## L2 cache line\n\nC.\n");
  CHECK(glossary_entries(glossary, "tile").empty());
}

TEST_CASE("book: a judge says the same thing once, five things at most, and counts the rest") {
  const auto told = [](const std::vector<std::string>& complaints) {
    std::ostringstream out;
    std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
    Judge judge;
    for (const std::string& complaint : complaints) judge.require(false, complaint);
    judge.verdict();
    std::cout.rdbuf(before);
    return out.str();
  };
  CHECK(told({"a"}) == "  a\n  0 of 1 checks pass\n");
  CHECK(told({"a", "a", "b", "a"}) == "  a\n  b\n  a\n  … and 1 more\n  0 of 4 checks pass\n");
  CHECK(told({"1", "2", "3", "4", "5", "6", "7"}) ==
        "  1\n  2\n  3\n  4\n  5\n  … and 2 more\n  0 of 7 checks pass\n");
}

}  // namespace flashbook::book
