#include "sim/io/ragged.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/bars.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;
using io::Report;

constexpr std::size_t most_sequences = 100'000, most_file_bytes = 1 << 21, most_bars = 24;

/// `sim ragged`: what the user asked for.
struct Question {
  std::string lengths, file, dtype = "fp16";
  Index heads = 1, d = 64;
  std::optional<Index> heads_kv;
  Index b_r = io::default_blocks.rows, b_c = io::default_blocks.columns;
  bool causal = false, analytic = false;
  OutputOptions output;
};

/// One algorithm on the batch, packed and padded.
struct Comparison {
  Report packed, padded;
};

// ---- the lengths

std::vector<Index> lengths_in(const std::string& text, const std::string& flag) {
  const char* const separators = ", \t\r\n";
  std::vector<Index> lengths;
  for (std::size_t at = text.find_first_not_of(separators); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    const std::string word = text.substr(at, end - at);
    Index length = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), length);
    if (error != std::errc() || rest != word.data() + word.size() || length < 0)
      refuse(flag, "'" + word.substr(0, 40) + "'",
             "a length is a whole number of tokens, 0 or more, such as in 17,512,3");
    lengths.push_back(length);
    at = text.find_first_not_of(separators, end);
  }
  if (lengths.empty()) refuse(flag, "empty", "pass at least one length, such as in 17,512,3");
  if (lengths.size() > most_sequences)
    refuse(flag, std::to_string(lengths.size()) + " lengths",
           "pass " + std::to_string(most_sequences) + " at most");
  return lengths;
}

std::string text_of_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(most_file_bytes + 1, '\0');
  if (std::filesystem::is_directory(file) || !in.read(text.data(), 1))
    throw InputError("--file '" + file +
                     "' cannot be read, or is empty: pass a text file of lengths");
  in.read(text.data() + 1, static_cast<std::streamsize>(text.size() - 1));
  text.resize(static_cast<std::size_t>(in.gcount()) + 1);
  if (text.size() > most_file_bytes)
    throw InputError("--file '" + file + "' is larger than " + std::to_string(most_file_bytes) +
                     " bytes: pass a text file of lengths");
  return text;
}

io::RaggedBatch batch_of(const Question& q) {
  if (q.lengths.empty() == q.file.empty())
    throw InputError("--lengths and --file: pass one of them, with the tokens of each sequence");
  const Index heads_kv = q.heads_kv.value_or(q.heads);
  check_positive("--heads", q.heads);
  check_positive("--heads-kv", heads_kv);
  check_positive("--d", q.d);
  check_positive("--br", q.b_r);
  check_positive("--bc", q.b_c);
  if (q.heads % heads_kv != 0)
    refuse("--heads-kv", std::to_string(heads_kv), "it must divide --heads");
  io::RaggedBatch batch = {q.file.empty() ? lengths_in(q.lengths, "--lengths")
                                          : lengths_in(text_of_file(q.file), "--file"),
                           q.heads,
                           heads_kv,
                           q.d,
                           dtype_of(q.dtype),
                           q.causal};
  check(batch);
  return batch;
}

// ---- the counts

Comparison compare(const io::Algorithm& algorithm, const Question& q,
                   const AttentionProblem& packed, const AttentionProblem& padded) {
  const io::RunOptions options = {{.blocks = {q.b_r, q.b_c}}};
  const Comparison formula = {closed_form(algorithm, packed, options),
                              closed_form(algorithm, padded, options)};
  if (q.analytic || !is_quick(packed, formula.packed, .5) || !is_quick(padded, formula.padded, .5))
    return formula;
  return {run_on_random(algorithm, packed, options), run_on_random(algorithm, padded, options)};
}

std::vector<Comparison> compare_all(const Question& q, const io::RaggedBatch& batch) {
  const AttentionProblem packed = io::packed(batch), padded = io::padded(batch);
  const Progress progress("sim ragged");
  std::vector<Comparison> all;
  for (const io::Algorithm& algorithm : io::algorithms()) {
    progress.show("counting " + std::string(algorithm.name));
    all.push_back(compare(algorithm, q, packed, padded));
  }
  return all;
}

Index moved(const Report& r) {
  return r.bytes_read() + r.bytes_written();
}

Records records_of(const std::vector<Comparison>& all) {
  Records records = {
      {"algorithm", "source", "packed_flops", "padded_flops", "wasted_flops", "packed_bytes",
       "padded_bytes", "wasted_bytes", "packed_tiles", "padded_tiles"},
      {}};
  for (const auto& [packed, padded] : all)
    records.rows.push_back(
        {packed.algorithm, source_of(packed), packed.flops_executed, padded.flops_executed,
         io::wasted_share(packed.flops_executed, padded.flops_executed), moved(packed),
         moved(padded), io::wasted_share(moved(packed), moved(padded)), packed.visited_tiles,
         padded.visited_tiles});
  return records;
}

// ---- the answer

/// "537 M", where the column says FLOPs.
std::string in_flops(Index flops) {
  const std::string text = short_flops(flops);
  return text.substr(0, text.find("FLOP"));
}

std::string table_of(const std::vector<Comparison>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"", "FLOPs", "padded", "wasted", "bytes", "padded", "wasted", ""}};
  for (const auto& [packed, padded] : all)
    rows.push_back(
        {packed.algorithm, in_flops(packed.flops_executed), in_flops(padded.flops_executed),
         percent(io::wasted_share(packed.flops_executed, padded.flops_executed)),
         short_bytes(moved(packed)), short_bytes(moved(padded)),
         percent(io::wasted_share(moved(packed), moved(padded))), packed.executed ? "E" : "F"});
  return table(rows);
}

std::string tiles_line(const std::vector<Comparison>& all) {
  for (const auto& [packed, padded] : all)
    if (packed.algorithm == "fa2_forward")
      return "fa2_forward: " + std::to_string(packed.visited_tiles) + " tiles of S packed, " +
             std::to_string(padded.visited_tiles) + " padded (" + source_of(packed) + ").\n";
  return "";
}

/// A bar a sequence as it was given; of many, a bar for each of as many equal groups, longest
/// first.
BarChart chart_of(const io::RaggedBatch& batch) {
  const double longest = static_cast<double>(batch.longest());
  const std::size_t n = batch.lengths.size();
  BarChart chart = {"Tokens of a batch padded to its longest sequence",
                    "tokens, of " + std::to_string(batch.longest()) + " each",
                    "wasted on padding",
                    {}};
  std::vector<Index> lengths = batch.lengths;
  const std::size_t bars = std::min(n, most_bars);
  if (n > most_bars) {
    std::sort(lengths.rbegin(), lengths.rend());
    chart.unit += "; " + std::to_string(n) + " sequences, longest first";
  }
  for (std::size_t i = 0; i < bars; ++i) {
    const std::size_t first = i * n / bars, last = (i + 1) * n / bars;
    double sum = 0;
    for (std::size_t s = first; s < last; ++s) sum += static_cast<double>(lengths[s]);
    const double mean = sum / static_cast<double>(last - first);
    const std::string number = std::to_string(first + 1);
    chart.bars.push_back({last - first == 1 ? number : number + "–" + std::to_string(last), mean,
                          longest,
                          (last - first == 1 ? "" : "mean ") + std::to_string(std::llround(mean)) +
                              ", " + percent(longest > 0 ? mean / longest : 0)});
  }
  return chart;
}

std::string hint_of(const io::RaggedBatch& batch) {
  const io::TwoBatches two = best_two_batches(batch);
  const double n = static_cast<double>(batch.lengths.size());
  const double one =
      n * static_cast<double>(batch.longest()) * static_cast<double>(batch.longest());
  if (two.shorter == 0) return "";
  const Index longer = static_cast<Index>(batch.lengths.size()) - two.shorter;
  return "In two padded batches, " + std::to_string(two.shorter) + " sequences of up to " +
         std::to_string(two.longest_shorter) + " tokens and " + std::to_string(longer) +
         " longer ones,\nthere would be " + percent(two.pairs / one) +
         " of one padded batch's query-key pairs (closed form).\n";
}

void print(const Question& q, const io::RaggedBatch& batch, const std::vector<Comparison>& all) {
  const Index padded_tokens = static_cast<Index>(batch.lengths.size()) * batch.longest();
  std::cout << batch.lengths.size() << " sequences of up to " << batch.longest() << " tokens:\n"
            << batch.tokens() << " packed end to end, " << padded_tokens
            << " padded to the longest\nd = " << q.d << ", H = " << batch.heads_q
            << ", H_kv = " << batch.heads_kv << ", " << q.dtype << (q.causal ? ", causal" : "")
            << ", tiles of S " << text_of({q.b_r, q.b_c}) << "\n\n"
            << table_of(all)
            << "\n  E executed, F closed form. Packed: cu_seqlens cut the tokens, and only those\n"
               "  are computed. Padded: a kernel that is told nothing of the padding moves and\n"
               "  multiplies it like tokens.\n\n"
            << tiles_line(all) << "\n"
            << in_characters(chart_of(batch)) << "\n"
            << hint_of(batch);
}

void ragged(const Question& q) {
  const io::RaggedBatch batch = batch_of(q);
  q.output.check();
  const std::vector<Comparison> all = compare_all(q, batch);
  const Records records = records_of(all);
  q.output.write(records, svg(chart_of(batch)));
  if (!q.output.json) return print(q, batch, all);
  const nlohmann::ordered_json out = {
      {"sequences", batch.lengths.size()},
      {"longest", batch.longest()},
      {"packed_tokens", batch.tokens()},
      {"padded_tokens", static_cast<Index>(batch.lengths.size()) * batch.longest()},
      {"d", q.d},
      {"heads", batch.heads_q},
      {"heads_kv", batch.heads_kv},
      {"dtype", q.dtype},
      {"causal", q.causal},
      {"br", q.b_r},
      {"bc", q.b_c},
      {"rows", as_json(records)}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_ragged(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "ragged", "sequences of unequal lengths: packed (cu_seqlens) against padded batches");
  const auto q = std::make_shared<Question>();
  verb->add_option("--lengths", q->lengths, "tokens of each sequence: 17,512,3");
  verb->add_option("--file", q->file, "a text file of them, between commas, spaces or lines");
  verb->add_option("--heads", q->heads, "query heads")->capture_default_str();
  verb->add_option("--heads-kv", q->heads_kv, "key/value heads (without it: as many)");
  verb->add_option("--d", q->d, "head dimension")->capture_default_str();
  verb->add_option("--dtype", q->dtype, "fp16, bf16 or fp32")->capture_default_str();
  verb->add_flag("--causal", q->causal, "hide keys right of the diagonal");
  verb->add_option("--br", q->b_r, "query rows of a tile of S")->capture_default_str();
  verb->add_option("--bc", q->b_c, "keys of a tile of S")->capture_default_str();
  verb->add_flag("--analytic", q->analytic,
                 "all from closed forms, the same integers; without it, what is quick is executed");
  q->output.add_to(*verb);
  verb->callback([q] { ragged(*q); });
}

}  // namespace flashbook
