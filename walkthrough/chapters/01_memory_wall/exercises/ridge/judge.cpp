#include <sstream>

#include "answer.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "sim/io/roofline.hpp"
#include "walkthrough/chapters/judge.hpp"

using namespace flashbook;

namespace {

/// Of one head: more heads take longer in proportion.
io::Times times_at(int d) {
  flashbook_problem p = dense_problem(1, 1, 1, 4096, 4096, d, d);
  p.dtype = FLASHBOOK_FP16;
  const AttentionProblem problem(p);
  const io::Algorithm& standard = io::find_algorithm("standard_forward");
  const io::Report report = io::closed_form(standard, problem);
  return io::times_on(*io::find_gpu("A100"), problem.dtype(),
                      io::demand_of(standard, problem, {}, report));
}

std::string text_of(int d, const io::Times& times) {
  std::ostringstream text;
  text.precision(4);
  text << "at d = " << d << " the products take " << times.matmul * 1e6 << " µs, the traffic "
       << times.dram * 1e6 << " µs";
  return text.str();
}

}  // namespace

int main() {
  book::Judge judge;
  if (answer < 2 || answer > 4096) {
    judge.require(false, "d is between 2 and 4096");
    return judge.verdict();
  }
  const io::Times here = times_at(answer), before = times_at(answer - 1);
  judge.require(here.matmul >= here.dram, text_of(answer, here) + ": memory still binds");
  judge.require(before.matmul < before.dram,
                text_of(answer - 1, before) + ": a smaller d would do");
  return judge.verdict();
}
