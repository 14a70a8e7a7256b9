#include "walkthrough/chapters/judge.hpp"
#include "answer.hpp"
#include "sim/io/closed_form/closed_form.hpp"

using namespace flashbook;

namespace {

constexpr Index N = 1024;

AttentionProblem problem_of(Index d) {
  flashbook_problem fields = dense_problem(1, 1, 1, N, N, d, d);
  fields.dtype = FLASHBOOK_FP16;
  return AttentionProblem(fields);
}

const io::Algorithm& fa2() {
  return io::find_algorithm("fa2_forward");
}

Index bytes_moved(const AttentionProblem& problem, const io::Blocks& blocks) {
  const io::Report report = closed_form(fa2(), problem, {blocks});
  return report.bytes_read() + report.bytes_written();
}

/// Throws what the simulated memory says to a tile too many.
void execute(const AttentionProblem& problem, const io::Blocks& blocks, Index sram_bytes) {
  const std::vector<half> zeros(static_cast<std::size_t>(N * problem->d));
  std::vector<half> o(zeros);
  std::vector<float> lse(static_cast<std::size_t>(N));
  io::RunTensors tensors = {};
  tensors.inputs = {zeros.data(), zeros.data(), zeros.data(), nullptr, nullptr, nullptr};
  tensors.outputs = {o.data(), lse.data()};
  io::RunOptions options;
  options.blocks = blocks;
  options.sram_bytes = sram_bytes;
  io::run(fa2(), problem, tensors, options);
}

bool is_multiple_of_16(Index x) {
  return x >= 16 && x % 16 == 0;
}

/// A tile of multiples of 16 that fits and moves less, in words; nothing if there is none.
std::string better_than(const io::Blocks& blocks, const AttentionProblem& problem,
                        Index sram_bytes) {
  const Index moved = bytes_moved(problem, blocks);
  for (Index rows = 16; rows <= N; rows += 16)
    for (Index keys = 16; keys <= N; keys += 16) {
      const io::Blocks other = {rows, keys};
      if (fa2().footprint(problem, other) > sram_bytes || bytes_moved(problem, other) >= moved)
        continue;
      std::ostringstream text;
      text << "moves " << moved << " bytes;\n  " << rows << " × " << keys << " fits too and moves "
           << bytes_moved(problem, other);
      return text.str();
    }
  return {};
}

/// What is wrong with a tile; nothing if it is right.
std::string fault_of(const io::Blocks& blocks, const AttentionProblem& problem, Index sram_bytes) {
  if (!is_multiple_of_16(blocks.rows) || !is_multiple_of_16(blocks.columns))
    return "is not made of multiples of 16";
  if (blocks.rows > N || blocks.columns > N) return "is larger than S, which is 1024 × 1024";
  try {
    execute(problem, blocks, sram_bytes);
  } catch (const std::exception& refusal) {
    const std::string reason = refusal.what();  // and what lies beside the tile too many
    return "does not run:\n  " + reason.substr(0, reason.find(" beside "));
  }
  return better_than(blocks, problem, sram_bytes);
}

}  // namespace

int main() {
  book::Judge judge;
  // 61440 bytes fit 128 rows but for m and l; 1 MiB fits more rows than there are.
  constexpr Index questions[][2] = {{61440, 64},   {102400, 64},  {102400, 128}, {49152, 128},
                                    {232448, 128}, {167936, 256}, {1048576, 64}};
  for (const auto& [sram_bytes, d] : questions) {
    const Tile answer = choose_blocks(sram_bytes, d, N);
    const std::string fault = fault_of({answer.rows, answer.keys}, problem_of(d), sram_bytes);
    std::ostringstream text;
    text << sram_bytes << " bytes, d = " << d << ": " << answer.rows << " × " << answer.keys << " "
         << fault;
    judge.require(fault.empty(), text.str());
  }
  return judge.verdict();
}
