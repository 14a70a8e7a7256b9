#include "walkthrough/text_width.hpp"

#include <doctest/doctest.h>

using namespace flashbook;

TEST_CASE("text width: a character is a column, however many bytes it has") {
  CHECK(width_of("") == 0);
  CHECK(width_of("ℓ = α·ℓ") == 7);
  CHECK(bytes_of_first(0, "αβ") == 0);
  CHECK(bytes_of_first(1, "αβ") == 2);
  CHECK(bytes_of_first(2, "αβ") == 4);
  CHECK(bytes_of_first(3, "αβ") == 4);
}

TEST_CASE("text width: a cut divides no character") {
  CHECK(cut("αβγ", 3) == "αβγ");
  CHECK(cut("αβγδ", 3) == "αβ…");
  CHECK(cut("abcd", 4) == "abcd");
  CHECK(cut("abcde", 4) == "abc…");
}

TEST_CASE("text width: lines are broken at the last space that fits 80 columns") {
  const std::string ells(79, 'x'), eighty = "ℓ" + ells;
  CHECK(wrapped(eighty, 4) == eighty + "\n");
  CHECK(wrapped(eighty + " y z", 4) == eighty + "\n    y z\n");
  CHECK(wrapped("α " + ells, 4) == "α\n    " + ells + "\n");
  CHECK(wrapped(ells + ells, 4) == ells + ells + "\n");
  CHECK(wrapped("  a\n\nb", 0) == "  a\n\nb\n");
}
