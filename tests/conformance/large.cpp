#include "tests/conformance/large.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "cpu_reference/parallel.hpp"
#include "tests/conformance/large_columns.hpp"
#include "tests/conformance/sample.hpp"

namespace flashbook::conformance {
namespace {

constexpr std::uint64_t stream_rows = 101, stream_keys = 102;

/// Rows of one query head and the keys they see, as a problem of their own on the same memory.
struct RowBlock {
  RowBlock(const AttentionProblem& whole, const Piece& rows, const Inputs& all,
           const Cotangents& all_cotangents)
      : problem(fields(whole, rows)), inputs(all), cotangents(all_cotangents) {
    const flashbook_problem& p = whole.fields();
    const Index kv_head = whole.kv_head(rows.head), first_key = member_of(whole, rows).first_k;
    const auto at = [&](const void* data, const flashbook_strides& s, Index token, Index head) {
      return static_cast<const std::byte*>(data) +
             (rows.batch * s.batch + token * s.token + head * s.head) * bytes_of(whole.dtype());
    };
    inputs.q = at(all.q, p.q, rows.first, rows.head);
    inputs.k = at(all.k, p.k, first_key, kv_head);
    inputs.v = at(all.v, p.v, first_key, kv_head);
    cotangents.o = at(all_cotangents.o, p.grad_o, rows.first, rows.head);
    if (p.has_dlse)
      cotangents.lse = static_cast<const float*>(all_cotangents.lse) +
                       (rows.batch * p.heads_q + rows.head) * p.n_q + rows.first;
  }

  AttentionProblem problem;
  Inputs inputs;
  Cotangents cotangents;

 private:
  /// The same mask by a window: row r's diagonal is that of row first + r of the whole.
  static AttentionProblem fields(const AttentionProblem& whole, const Piece& rows) {
    flashbook_problem p = whole.fields();
    const Member member = member_of(whole, rows);
    const Index diagonal = member.diagonal + rows.first - member.first_q;
    p.batch = p.members = p.heads_q = p.heads_kv = 1;
    p.packed = 0;
    p.n_q = rows.count;
    p.n_k = member.n_k;
    p.alignment = FLASHBOOK_TOP_LEFT;  // row 0's diagonal key is 0
    if (p.causal) p.window_right = std::min<Index>(p.window_right, 0);
    p.causal = 0;
    if (p.window_right != unbounded) p.window_right += diagonal;
    if (p.window_left != unbounded) p.window_left -= diagonal;
    return AttentionProblem(p);
  }
};

/// Elements [tokens, channels] of a piece, by their logical indices in an output [B, N, H,
/// channels].
std::vector<double> part_of(const Storage& storage, const Piece& piece) {
  const std::array<Index, 4>& sizes = storage.layout().sizes;
  std::vector<double> part;
  for (Index i = piece.first; i < piece.first + piece.count; ++i)
    for (Index c = 0; c < sizes[3]; ++c)
      part.push_back(
          storage.get(((piece.batch * sizes[1] + i) * sizes[2] + piece.head) * sizes[3] + c));
  return part;
}

std::vector<double> lse_of(const Storage& storage, const Piece& piece) {
  const std::array<Index, 4>& sizes = storage.layout().sizes;  // 1, B, H, N
  std::vector<double> part;
  for (Index i = piece.first; i < piece.first + piece.count; ++i)
    part.push_back(storage.get((piece.batch * sizes[2] + piece.head) * sizes[3] + i));
  return part;
}

/// Collects what is judged, the worst of each gate over all pieces.
class Collector {
 public:
  void add(Output output, const Margins& margins) {
    for (OutputReport& known : reports_)
      if (known.output == output) return merge(known.margins, margins);
    reports_.push_back({output, margins, std::nullopt});
  }
  Judgement judgement() const {
    Judgement all = {reports_, {}, {}};
    for (const OutputReport& report : reports_)
      for (std::string& fault : faults_of(report.output, report.margins))
        all.faults.push_back(std::move(fault));
    return all;
  }

 private:
  /// NaN is more than any number.
  static bool is_more(double used, double most) { return !std::isnan(most) && !(used <= most); }

  static void merge(std::optional<double>& most, const std::optional<double>& used) {
    if (used && (!most || is_more(*used, *most))) most = used;
  }
  static void merge(Margins& most, const Margins& used) {
    if (is_more(used.gate1, most.gate1)) {
      most.gate1 = used.gate1;
      most.worst = used.worst;
    }
    most.is_all_nan = most.is_all_nan && used.is_all_nan;
    most.factor.reset();  // a piece's, not all of it
    merge(most.gate2, used.gate2);
    if (used.gate3 && (!most.gate3 || is_more(*used.gate3, *most.gate3)))
      most.gate3_direction = used.gate3_direction;
    merge(most.gate3, used.gate3);
    if (is_more(used.largest_error, most.largest_error)) most.largest_error = used.largest_error;
  }

  std::vector<OutputReport> reports_;
};

/// `margins` of a piece of an output [B, N, H, channels], with the worst element's place in it.
Margins placed(Margins margins, const Piece& piece) {
  margins.worst.at = {piece.batch, margins.worst.at[1] + piece.first, piece.head,
                      margins.worst.at[3]};
  return margins;
}

Margins placed_lse(Margins margins, const Piece& piece) {
  margins.worst.at = {0, piece.batch, piece.head, margins.worst.at[3] + piece.first};
  return margins;
}

bool is_among(const std::vector<Output>& outputs, Output output) {
  return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

/// What is expected of the rows of a piece.
struct ExpectedRows {
  Piece rows;
  AttentionProblem problem;
  Expectation expected;
};

std::vector<ExpectedRows> expect_sample(const AttentionProblem& problem, const Inputs& inputs,
                                        const Cotangents& cotangents, std::uint64_t seed,
                                        const Arithmetic& arithmetic) {
  const flashbook_problem& p = problem.fields();
  const std::set<Piece> chosen = sample(p.batch, p.heads_q, p.n_q, seed, stream_rows);
  std::vector<Piece> pieces(chosen.begin(), chosen.end());
  for (Piece& piece : pieces) {
    const Member member = member_of(problem, piece);
    piece.count = std::min(piece.count, member.first_q + member.n_q - piece.first);
  }
  std::vector<std::optional<ExpectedRows>> expected(pieces.size());
  parallel_for(static_cast<Index>(pieces.size()), [&](Index i) {
    const auto n = static_cast<std::size_t>(i);
    const RowBlock alone(problem, pieces[n], inputs, cotangents);
    expected[n] = {pieces[n], alone.problem,
                   expect(alone.problem, alone.inputs, alone.cotangents, arithmetic)};
  });
  std::vector<ExpectedRows> all;
  for (auto& each : expected) all.push_back(std::move(*each));
  return all;
}

void judge_rows(Collector& collector, const ExpectedRows& rows, const Results& results,
                const std::vector<Output>& asked) {
  for (Output output : {Output::O, Output::dQ})
    if (is_among(asked, output))
      collector.add(output, placed(judge(rows.expected, output, shape(rows.problem, output),
                                         part_of(results[output], rows.rows), {}),
                                   rows.rows));
  if (is_among(asked, Output::LSE))
    collector.add(Output::LSE,
                  placed_lse(judge(rows.expected, Output::LSE, shape(rows.problem, Output::LSE),
                                   lse_of(results[Output::LSE], rows.rows), {}),
                             rows.rows));
}

void judge_keys(Collector& collector, const AttentionProblem& problem, const Inputs& inputs,
                const Cotangents& cotangents, const Results& results, const Arithmetic& arithmetic,
                const Piece& keys) {
  const Expectation expected = expect_columns(problem, inputs, cotangents, results, arithmetic,
                                              {keys.batch, keys.head, keys.first, keys.count});
  for (Output output : {Output::dK, Output::dV}) {
    const Index channels = shape(problem, output)[3];
    collector.add(output, placed(judge(expected, output, {1, keys.count, 1, channels},
                                       part_of(results[output], keys), {}),
                                 keys));
  }
}

}  // namespace

class RunJudge::State {
 public:
  State(const AttentionProblem& problem, std::uint64_t seed, const Inputs& inputs,
        const Cotangents& cotangents)
      : problem_(problem), seed_(seed), inputs_(inputs), cotangents_(cotangents) {}

  Judgement judge(const Results& results, const Properties& properties,
                  const std::vector<Output>& asked) {
    const flashbook_problem& p = problem_.fields();
    const Arithmetic arithmetic = arithmetic_of(problem_.dtype(), properties);
    const double pairs = static_cast<double>(p.batch * p.heads_q) * static_cast<double>(p.n_q) *
                         static_cast<double>(p.n_k);
    return pairs > static_cast<double>(most_pairs) ? judge_sample(results, arithmetic, asked)
                                                   : judge_whole(results, arithmetic, asked);
  }

 private:
  /// What one arithmetic may give.
  struct Expected {
    Arithmetic arithmetic;
    std::vector<ExpectedRows> rows;    // of a sample
    std::optional<Expectation> whole;  // of a problem that is computed as a whole
  };

  Expected& expected_of(const Arithmetic& arithmetic) {
    for (Expected& known : expected_)
      if (known.arithmetic == arithmetic) return known;
    expected_.push_back({arithmetic, {}, std::nullopt});
    return expected_.back();
  }

  Judgement judge_whole(const Results& results, const Arithmetic& arithmetic,
                        const std::vector<Output>& asked) {
    std::optional<Expectation>& expected = expected_of(arithmetic).whole;
    if (!expected) expected = expect(problem_, inputs_, cotangents_, arithmetic);
    Collector collector;
    for (Output output : asked)
      collector.add(output,
                    flashbook::conformance::judge(*expected, output, shape(problem_, output),
                                                  results[output].numbers(), {}));
    return collector.judgement();
  }

  Judgement judge_sample(const Results& results, const Arithmetic& arithmetic,
                         const std::vector<Output>& asked) {
    std::vector<ExpectedRows>& rows = expected_of(arithmetic).rows;
    if (rows.empty()) rows = expect_sample(problem_, inputs_, cotangents_, seed_, arithmetic);
    // Also for a backward pass alone: what it read must be right.
    Collector collector, read;
    for (const ExpectedRows& piece : rows) {
      judge_rows(collector, piece, results, asked);
      if (is_among(asked, Output::dK) && !is_among(asked, Output::O))
        judge_rows(read, piece, results, {Output::O, Output::LSE});
    }
    const std::string sampled = "O, LSE and dQ: " + std::to_string(rows.size()) + " blocks of " +
                                std::to_string(sample_block) + " rows, exactly";
    Judgement judgement = collector.judgement();
    for (const std::string& fault : read.judgement().faults) judgement.faults.push_back(fault);
    judgement.sampled = sampled;
    const flashbook_problem& p = problem_.fields();
    if (p.packed || !is_among(asked, Output::dK) || arithmetic.materialised ||
        !judgement.faults.empty())
      return judgement;

    const std::set<Piece> keys = sample(p.batch, p.heads_kv, p.n_k, seed_, stream_keys);
    for (const Piece& piece : keys)
      judge_keys(collector, problem_, inputs_, cotangents_, results, arithmetic, piece);
    judgement = collector.judgement();
    judgement.sampled = sampled + "; dK and dV: " + std::to_string(keys.size()) + " blocks of " +
                        std::to_string(sample_block) +
                        " keys, from the LSE and O computed, whose sampled rows passed; gate 1";
    return judgement;
  }

  const AttentionProblem& problem_;
  std::uint64_t seed_;
  Inputs inputs_;
  Cotangents cotangents_;
  std::deque<Expected> expected_;
};

RunJudge::RunJudge(const AttentionProblem& problem, std::uint64_t seed, const Inputs& inputs,
                   const Cotangents& cotangents)
    : state_(std::make_unique<State>(problem, seed, inputs, cotangents)) {}

RunJudge::~RunJudge() = default;

Judgement RunJudge::judge(const Results& results, const Properties& properties,
                          const std::vector<Output>& asked) {
  return state_->judge(results, properties, asked);
}

Judgement judge_run(const ProblemSpec& spec, std::uint64_t seed, const Data& data,
                    const Results& results, const Properties& properties, bool forward,
                    bool backward) {
  std::vector<Output> asked;
  if (forward) asked = {Output::O, Output::LSE};
  if (backward) asked.insert(asked.end(), {Output::dQ, Output::dK, Output::dV});
  RunJudge judge(spec.problem, seed, data.inputs(), data.cotangents());
  Judgement judgement = judge.judge(results, properties, asked);
  for (const OutputReport& report : judgement.outputs)
    if (std::string misplaced = find_misplaced_writes(results[report.output], report.output);
        !misplaced.empty())
      judgement.faults.push_back(std::move(misplaced));
  return judgement;
}

}  // namespace flashbook::conformance
