#include <sstream>

#include "answer.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/chapters/judge.hpp"

using namespace flashbook;

namespace {

struct Sizes {
  double S = 0, others = 0;  ///< elements
  double ratio() const { return S / others; }
};

/// By what a run would write of S and O, and read of Q, K and V, each of them once.
Sizes sizes_at(long n) {
  const io::Report report =
      io::closed_form(io::find_algorithm("standard_forward"),
                      AttentionProblem(dense_problem(1, 1, 1, n, n, 128, 128)));
  Sizes sizes;
  for (const io::TensorTraffic& tensor : report.tensors) {
    const auto written = static_cast<double>(tensor.counts.writes);
    if (tensor.name == "S")
      sizes.S = written;
    else if (tensor.name != "P")
      sizes.others += written + static_cast<double>(tensor.counts.reads);
  }
  return sizes;
}

std::string text_of(long n, const Sizes& sizes) {
  std::ostringstream text;
  text << "at N = " << n << " S holds " << sizes.ratio() << " times the elements of the others";
  return text.str();
}

}  // namespace

int main() {
  book::Judge judge;
  if (answer < 2 || answer > 10'000'000) {
    judge.require(false, "N is between 2 and ten million");
    return judge.verdict();
  }
  const Sizes here = sizes_at(answer), before = sizes_at(answer - 1);
  judge.require(here.ratio() >= 100, text_of(answer, here) + ": too few");
  judge.require(before.ratio() < 100, text_of(answer - 1, before) + ": a smaller N would do");
  return judge.verdict();
}
