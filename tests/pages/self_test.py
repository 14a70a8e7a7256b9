"""Plants faults in a small book, one at a time, and expects pages.py to find each: self_test.py

The book's program is a script that prints a table; its pages are written below, made whole by
pages.py itself, and then spoilt.
"""
import contextlib
import io
import os
import sys
import tempfile
import unittest

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "walkthrough", "pages"))
import directives  # noqa: E402
import pages  # noqa: E402

PROGRAM = """#!/bin/sh
case $1 in
  count) printf 'tensor  MB\\nS       33.6\\nO       0.524\\n' ;;
  refuse) echo 'no such thing' >&2; exit 2 ;;
  draw) echo '<svg/>' > "$3" ;;
esac
"""

SOURCE = """int before;
  // [middle]
  int middle = 4096;
  // [inner]
  int inner;
  // [/inner]
  // [/middle]
int after;
"""

CHAPTER = """# 1. The wall

> What is it waiting for?

*Needs: nothing. 15 minutes.*

<!-- run count -->

S takes 33.6 MB, which is 64.1<!-- = 33.6 / 0.524 --> times O; the paper says 123 ms [FA1, Table 2].
The source is [here](../../../code.cpp), a [term](../glossary.md#lse) is explained.

<!-- code code.cpp : middle -->

<!-- run count | lines 2 -->
<!-- run refuse | exit 2 -->

<!-- picture one.svg : draw -->
![a picture](one.svg)

In it 4096 elements, in tiles of 2 × 2.

## What remains unexplained

Why.

## Exercises

- [One](exercises/one/task.md)
"""

FILES = {
    "program": PROGRAM,
    "code.cpp": SOURCE,
    "old.cpp": "// [rung]\nint tiles = 4;\nint rest;\n// [/rung]\n",
    "new.cpp": "// [rung]\nint tiles = 8;\nint rest;\n// [/rung]\n",
    "docs/changes.md": "<!-- diff old.cpp new.cpp : rung -->\n",
    "walkthrough/chapters/glossary.md": "# Glossary\n\n## LSE\n\nA logarithm.\n",
    "walkthrough/chapters/sources.md": "# Sources\n\n## FA1\n\nA paper.\n",
    "walkthrough/chapters/01_wall/chapter.md": CHAPTER,
    "walkthrough/chapters/01_wall/exercises/one/task.md": "# One\n",
    "walkthrough/chapters/01_wall/exercises/one/start.hpp": "",
    "walkthrough/chapters/01_wall/exercises/one/solution.hpp": "",
    "walkthrough/chapters/01_wall/exercises/one/judge.cpp": "",
}
PAGE = "walkthrough/chapters/01_wall/chapter.md"
CHANGES = "docs/changes.md"


class SmallBook(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pages.ROOT = self.folder.name
        for name, text in FILES.items():
            self.write(name, text)
        os.chmod(self.path("program"), 0o755)
        status, printed = self.run_pages()
        self.assertEqual(status, 0, printed)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_pages(self, *flags):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = pages.main([self.path("program"), *flags])
        return status, printed.getvalue()

    def spoil(self, name, old, new):
        text = self.read(name)
        self.assertEqual(text.count(old), 1, f"'{old}' is not there once")
        self.write(name, text.replace(old, new))

    def expect(self, *parts):
        """--check fails, and says each of the parts."""
        status, printed = self.run_pages("--check")
        self.assertEqual(status, 1, printed)
        for part in parts:
            self.assertIn(part, printed)

    def test_the_pages_as_made_pass(self):
        status, printed = self.run_pages("--check")
        self.assertEqual(status, 0, printed)
        self.assertIn("6 blocks", printed)

    def test_what_is_made(self):
        text = self.read(PAGE)
        self.assertIn("```console\n$ ./book count\ntensor  MB\nS       33.6\nO       0.524\n```", text)
        self.assertIn("```console\n$ ./book count\n…\nS       33.6\n…\n```", text)
        self.assertIn("```cpp\nint middle = 4096;\nint inner;\n```", text)
        self.assertIn("```diff\n- int tiles = 4;\n+ int tiles = 8;\n  int rest;\n```",
                      self.read(CHANGES))
        self.assertIn("```console\n$ ./book refuse\nno such thing\n```", text)
        self.assertEqual(self.read("walkthrough/chapters/01_wall/one.svg"), "<svg/>\n")

    def test_how_a_long_command_is_broken(self):
        names = "standard_backward,fa2_backward,fused_backward,three_kernel_backward"
        self.assertEqual(directives.typed(["sim", "sweep", "--n", "4096", "--d", "64", "--br", "128",
                                           "--bc", "128", "--dtype", "fp16", "--algorithm", names]),
                         "$ ./book sim sweep --n 4096 --d 64 --br 128 --bc 128 --dtype fp16 "
                         f"--algorithm \\\n      {names}")
        self.assertEqual(directives.typed(["softmax", "--start", "0", "-200"]),
                         "$ ./book softmax --start 0 -200")

    # Stale blocks. Each is put right by making the pages again.

    def expect_stale(self, *parts, page=PAGE):
        self.expect(page, *parts)
        self.run_pages()
        status, printed = self.run_pages("--check")
        self.assertEqual(status, 0, printed)

    def test_a_listing_whose_source_changed(self):
        self.spoil("code.cpp", "int inner;", "int other;")
        self.expect_stale("<!-- code code.cpp : middle --> is stale", "-int inner;", "+int other;")

    def test_a_listing_edited_on_the_page(self):
        self.spoil(PAGE, "int inner;", "int innner;")
        self.expect_stale("is stale", "-int innner;", "+int inner;")

    def test_a_difference_whose_sources_changed(self):
        self.spoil("new.cpp", "8", "16")
        self.expect_stale("<!-- diff old.cpp new.cpp : rung --> is stale",
                          "-+ int tiles = 8;", "++ int tiles = 16;", page=CHANGES)

    def test_a_difference_that_is_gone(self):
        self.spoil("new.cpp", "8", "4")
        self.expect("there is no difference")

    def test_a_difference_of_one_file(self):
        self.spoil(CHANGES, "old.cpp new.cpp", "old.cpp")
        self.expect("is not 'diff OLD NEW : region'")

    def test_what_a_difference_leaves_out(self):
        old = [str(i) for i in range(9)]
        new = old[:4] + ["x"] + old[5:]
        self.assertEqual(directives.changes(old, new),
                         ["…", "  2", "  3", "- 4", "+ x", "  5", "  6", "…"])
        self.assertEqual(directives.changes(old, ["x"] + old[1:8] + ["y"]),
                         ["- 0", "+ x", "  1", "  2", "…", "  6", "  7", "- 8", "+ y"])

    def test_an_output_that_changed(self):
        self.spoil("program", "O       0.524\\n", "O       0.524\\nP       0.1\\n")
        self.expect_stale("<!-- run count --> is stale", "+P       0.1")

    def test_an_output_edited_on_the_page(self):
        self.spoil(PAGE, "…\nS       33.6", "…\nS       33.7")
        self.expect_stale("<!-- run count | lines 2 --> is stale", "-S       33.7", "+S       33.6")

    def test_a_picture_that_changed(self):
        self.spoil("program", "<svg/>", "<svg></svg>")
        self.expect_stale("<!-- picture one.svg : draw -->: the file is stale")

    def test_a_listing_taken_away(self):
        self.spoil(PAGE, "```cpp\nint middle = 4096;\nint inner;\n```\n", "")
        self.expect_stale("<!-- code code.cpp : middle --> is stale")

    # Directives that cannot be followed.

    def test_no_such_region(self):
        self.spoil(PAGE, ": middle", ": centre")
        self.expect("has no region [centre]; it has inner, middle")

    def test_a_region_without_an_end(self):
        self.spoil("code.cpp", "// [/middle]", "")
        self.expect("[middle] of code.cpp does not end")

    def test_a_region_twice(self):
        self.write("code.cpp", SOURCE + SOURCE)
        self.expect("the marks of [middle] in code.cpp do not pair up")

    def test_no_such_file(self):
        os.remove(self.path("code.cpp"))
        self.expect("there is no file code.cpp", "the link (../../../code.cpp) leads to no file")

    def test_a_command_that_fails(self):
        self.spoil(PAGE, "run refuse | exit 2", "run refuse")
        self.expect("exit status 2 in place of 0", "no such thing")

    def test_a_command_that_no_longer_fails(self):
        self.spoil("program", "exit 2", "exit 0")
        self.expect("exit status 0 in place of 2")

    def test_lines_that_are_not_there(self):
        self.spoil(PAGE, "lines 2 -->", "lines 2-9 -->")
        self.expect("not among 3")

    def test_an_option_misspelt(self):
        self.spoil(PAGE, "| lines 2 -->", "| line 2 -->")
        self.expect("'line 2' is neither")

    def test_an_output_too_wide(self):
        self.spoil("program", "no such thing", "wide " * 17)
        self.expect("85 columns are more than 80")

    def test_a_fence_never_closed(self):
        self.write(PAGE, CHAPTER + "\n```\nopen\n")
        self.expect("the fence is never closed")

    # Links.

    def test_a_dead_link(self):
        self.spoil(PAGE, "(../../../code.cpp)", "(../../code.cpp)")
        self.expect("the link (../../code.cpp) leads to no file")

    def test_a_dead_link_over_two_lines(self):
        self.spoil(PAGE, "[here](../../../code.cpp)", "[over\nhere](../../code.cpp)")
        self.expect("the link (../../code.cpp) leads to no file")

    def test_a_term_not_in_the_glossary(self):
        self.spoil(PAGE, "#lse", "#tile")
        self.expect("the link (../glossary.md#tile) leads to no heading of glossary.md")

    # Numbers.

    def test_a_number_from_nowhere(self):
        self.spoil(PAGE, "in tiles", "or 8192, in tiles")
        self.expect("8192 is in none of the chapter's listings and outputs")

    def test_a_number_almost_right(self):
        self.spoil(PAGE, "S takes 33.6 MB", "S takes 33.5 MB")
        self.expect("33.5 MB is in none")

    def test_a_number_of_another_unit(self):
        self.spoil(PAGE, "S takes 33.6 MB", "S takes 33.6 GB")
        self.expect("33.6 GB is in none")

    def test_one_digit_with_a_unit(self):
        self.spoil(PAGE, "in tiles", "7 times as many, in tiles")
        self.expect("7 times is in none")

    def test_a_number_in_a_code_span(self):
        self.spoil(PAGE, "in tiles", "`exp(-2) = 0.135`, in tiles")
        self.expect("0.135 is in none")

    def test_a_number_in_a_fence_of_the_author(self):
        self.spoil(PAGE, "Why.", "```\n$ ./book count\nS   77.7\n```")
        self.expect("77.7 is in none")

    def test_a_number_in_a_table(self):
        self.spoil(PAGE, "Why.", "| N | S |\n|---|---|\n| 4096 | 268 |")
        self.expect("268 is in none")

    def test_arithmetic_that_is_wrong(self):
        self.spoil(PAGE, "33.6 / 0.524", "33.6 / 4096")
        self.expect("64.1 should be 0.0")

    def test_arithmetic_from_numbers_of_nowhere(self):
        self.spoil(PAGE, "33.6 / 0.524", "64.1 * 1")
        self.expect("64.1, in 64.1 * 1, is in none")

    def test_arithmetic_from_a_fraction_of_nowhere(self):
        self.spoil(PAGE, "33.6 / 0.524", "33.6 * 1.908")
        self.expect("1.908, in 33.6 * 1.908, is in none")

    def test_arithmetic_that_is_none(self):
        self.spoil(PAGE, "33.6 / 0.524", "open(0)")
        self.expect("is not arithmetic")

    def test_a_source_that_is_not_known(self):
        self.spoil(PAGE, "[FA1, Table 2]", "[FA7, Table 2]")
        self.expect("123 ms is in none")

    def test_a_source_of_another_sentence(self):
        self.spoil(PAGE, "123 ms [FA1, Table 2].", "123 ms. See [FA1, Table 2].")
        self.expect("123 ms is in none")

    def test_what_are_no_numbers(self):
        self.spoil(PAGE, "Why.", "fp16, FA2, A100, sm_80, 16-bit, Figure 22, chapter 12, 3Nd + 2N², "
                                 "`./book check 12`, H200<!-- 999 -->.")
        status, printed = self.run_pages("--check")
        self.assertEqual(status, 0, printed)

    # A chapter's form.

    def test_a_head_without_minutes(self):
        self.spoil(PAGE, " 15 minutes.", "")
        self.expect("a chapter begins with")

    def test_a_chapter_that_needs_a_later_one(self):
        self.spoil(PAGE, "nothing", "[chapter 2](../02_two/chapter.md)")
        self.expect("needs chapter 2, which comes after it")

    def test_no_end(self):
        self.spoil(PAGE, "## What remains unexplained", "## The end")
        self.expect("its last two sections are not")

    def test_nothing_to_run_at_once(self):
        self.spoil(PAGE, "*Needs: nothing. 15 minutes.*\n", "*Needs: nothing. 15 minutes.*\n" + 20 * "\nMuch.\n")
        self.expect("nothing to run within the first 24 lines")

    def test_a_fence_too_wide(self):
        self.spoil(PAGE, "Why.", "```\n" + 79 * "x" + "\n```")
        self.expect("a line of 79 columns in a fence, where 78 fit")

    def test_a_listing_too_wide(self):
        self.spoil("code.cpp", "int middle", "int " + 83 * "x" + "middle")
        self.run_pages()
        self.expect("a line of 101 columns in a fence, where 100 fit")

    def test_a_listing_too_wide_for_a_page_that_is_no_chapter(self):
        self.write("docs/page.md", "<!-- code code.cpp : middle -->\n")
        self.spoil("code.cpp", "int middle", "int " + 62 * "x" + "middle")
        self.assertEqual(self.run_pages()[0], 0)
        self.spoil("code.cpp", "int xx", "int xxx")
        self.run_pages()
        self.expect("docs/page.md:3: a listing of 81 columns, where 80 fit")

    def test_a_difference_too_wide(self):
        self.spoil("new.cpp", "int tiles = 8", "int " + 64 * "x" + "tiles = 8")
        self.assertEqual(self.run_pages()[0], 0)
        self.spoil("new.cpp", "int xx", "int xxx")
        self.run_pages()
        self.expect("docs/changes.md:4: a listing of 81 columns, where 80 fit")

    def test_an_exercise_nobody_is_told_of(self):
        self.spoil(PAGE, "[One](exercises/one/task.md)", "One")
        self.expect("no link to exercises/one/task.md")

    def test_half_an_exercise(self):
        os.remove(self.path("walkthrough/chapters/01_wall/exercises/one/solution.hpp"))
        self.expect("exercises/one has no solution.hpp or solution.cuh")


if __name__ == "__main__":
    unittest.main()
