#include <algorithm>
#include <array>

#include "answer.hpp"
#include "walkthrough/chapters/judge.hpp"

using namespace flashbook;

namespace {

constexpr int tiles = 3;
using Vector = std::array<int, tiles>;  // an output, a number for each tile

/// Stand-ins for dS_ij K_j, dS_ijᵀ Q_i and P_ijᵀ dO_i: integers, so that sums are exact.
int term_dQ(int i, int j) {
  return 1 + 10 * i + 100 * j;
}
int term_dK(int i, int j) {
  return 2 + 30 * i + 7 * j;
}
int term_dV(int i, int j) {
  return 3 + 5 * i + 50 * j;
}

struct Output {
  const char* name;
  bool is_of_rows;  ///< dQ_i; else dK_j and dV_j
  int (*term)(int i, int j);
  Write write;
  Vector memory = {};
};

/// What one worker has for tile `at` of the output. It touches all tiles, or its own.
int sum_of_worker(const Output& output, bool keys_are_outside, int worker, int at) {
  const bool is_own = output.is_of_rows != keys_are_outside;
  const auto term = [&](int mine, int other) {
    return keys_are_outside ? output.term(other, mine) : output.term(mine, other);
  };
  if (!is_own) return term(worker, at);
  int sum = 0;
  for (int other = 0; other < tiles; ++other) sum += term(worker, other);
  return sum;
}

void finish(Output& output, bool keys_are_outside, int worker) {
  const bool is_own = output.is_of_rows != keys_are_outside;
  for (int at = 0; at < tiles; ++at) {
    if (is_own && at != worker) continue;
    int& memory = output.memory[static_cast<std::size_t>(at)];
    const int sum = sum_of_worker(output, keys_are_outside, worker, at);
    memory = output.write == Write::add ? memory + sum : sum;
  }
}

Vector expected(const Output& output) {
  Vector sums = {};
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j < tiles; ++j)
      sums[static_cast<std::size_t>(output.is_of_rows ? i : j)] += output.term(i, j);
  return sums;
}

/// What goes wrong in one order of the workers; nothing if all is right.
std::string fault_in(const std::array<int, tiles>& workers, bool keys_are_outside, Output output) {
  for (const int worker : workers) finish(output, keys_are_outside, worker);
  if (output.memory == expected(output)) return {};
  std::ostringstream text;
  text << "with the workers in the order " << workers[0] << workers[1] << workers[2]
       << " tile 0 is " << output.memory[0] << ", not " << expected(output)[0];
  return text.str();
}

std::string fault_of(bool keys_are_outside, const Output& output) {
  std::array<int, tiles> workers = {0, 1, 2};
  do {
    const std::string fault = fault_in(workers, keys_are_outside, output);
    if (!fault.empty()) return fault;
  } while (std::next_permutation(workers.begin(), workers.end()));
  if (output.write == Write::add && output.is_of_rows != keys_are_outside)
    return "one worker alone writes each tile: a store would do, and moves half as much";
  return {};
}

void examine(book::Judge& judge, const std::string& order, bool keys_are_outside,
             const Plan& plan) {
  for (const Output& output :
       {Output{"dQ", true, term_dQ, plan.dQ}, Output{"dK", false, term_dK, plan.dK},
        Output{"dV", false, term_dV, plan.dV}}) {
    const std::string fault = fault_of(keys_are_outside, output);
    judge.require(fault.empty(), order + ", " + output.name + ": " + fault);
  }
}

}  // namespace

int main() {
  book::Judge judge;
  examine(judge, "keys outside", true, keys_outside);
  examine(judge, "rows outside", false, rows_outside);
  return judge.verdict();
}
