#include "walkthrough/chapters/judge.hpp"
#include "answer.hpp"

namespace {

using flashbook::book::Judge;

constexpr int unbounded = 1 << 20;

/// A look at every pair.
bool is_whole(const Mask& mask, Range rows, Range keys) {
  for (int i = rows.begin; i < rows.end && i < mask.n_q; ++i)
    for (int j = keys.begin; j < keys.end; ++j) {
      const int from_diagonal = j - (i + mask.diagonal);
      if (j >= mask.n_k || from_diagonal > mask.right || -from_diagonal > mask.left) return false;
    }
  return true;
}

std::string side(int width) {
  return width == unbounded ? "unbounded" : std::to_string(width);
}

void judge_tile(Judge& judge, const Mask& mask, Range rows, Range keys) {
  const bool expected = is_whole(mask, rows, keys), got = whole(mask, rows, keys);
  if (got == expected) return judge.require(true, "");
  std::ostringstream text;
  text << (got ? "wrong: not masked" : "slow: masked") << " are rows " << rows.begin << "-"
       << rows.end - 1 << ", keys " << keys.begin << "-" << keys.end - 1 << " of n_q " << mask.n_q
       << ", n_k " << mask.n_k << ", diagonal " << mask.diagonal << ", left " << side(mask.left)
       << ", right " << side(mask.right);
  judge.require(false, text.str());
}

void judge_problem(Judge& judge, const Mask& mask) {
  for (int B_r = 1; B_r <= 4; ++B_r)
    for (int B_c = 1; B_c <= 4; ++B_c)
      for (int i = 0; i < mask.n_q; i += B_r)
        for (int j = 0; j < mask.n_k; j += B_c) judge_tile(judge, mask, {i, i + B_r}, {j, j + B_c});
}

}  // namespace

int main() {
  Judge judge;
  constexpr int most = 9;
  for (int n_q = 1; n_q <= most; ++n_q)
    for (int n_k = 1; n_k <= most; ++n_k)
      for (const int diagonal : {0, n_k - n_q})
        for (const int right : {0, 2, unbounded})
          for (const int left : {unbounded, 0, 3})
            judge_problem(judge, {n_q, n_k, diagonal, left, right});
  return judge.verdict();
}
