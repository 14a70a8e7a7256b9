#include "sim/io/kv_cache.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/commands/sim/output_options.hpp"
#include "walkthrough/commands/sim/question.hpp"
#include "walkthrough/commands/sim/sim.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook {
namespace {

using namespace sim;
using io::DecoderShape;
using io::Report;

/// What GPU kernels use at d = 128.
constexpr io::Blocks blocks = {128, 128};

/// `sim kv-cache`: what the user asked for. The defaults are those of an 8-billion-parameter
/// decoder of 2024.
struct Question {
  DecoderShape shape = {32, 32, 8, 128, 1, DType::fp16};
  Index tokens = 32768;
  std::string dtype = "fp16";
  bool analytic = false;
  OutputOptions output;
};

/// Attention of all layers, from the counts of one: they are alike.
struct Phase {
  std::string name;
  Index flops, bytes_read, bytes_written;
  std::string source;

  double intensity() const {
    return static_cast<double>(flops) / static_cast<double>(bytes_read + bytes_written);
  }
};

/// One sequence length of the sweep.
struct Size {
  Index tokens, scores, cache;
  Phase decode;
};

struct Answer {
  std::vector<Size> sizes;
  std::vector<Phase> phases;
};

Phase count(const std::string& name, const Question& q, const AttentionProblem& layer) {
  const io::Algorithm& algorithm = io::find_algorithm("fa2_forward");
  Report report = closed_form(algorithm, layer, {blocks});
  if (!q.analytic && is_quick(layer, report, .5))
    report = run_on_random(algorithm, layer, {{blocks}});
  const Index layers = q.shape.layers;
  return {name, layers * report.flops_executed, layers * report.bytes_read(),
          layers * report.bytes_written(), source_of(report)};
}

/// Powers of two from 1,024 (or less) to N, and N.
std::vector<Index> sizes_up_to(Index most) {
  std::vector<Index> sizes;
  Index least = 1024;
  while (least > 1 && least > most / 8) least /= 2;
  for (Index n = least; n < most; n *= 2) sizes.push_back(n);
  sizes.push_back(most);
  return sizes;
}

Answer answer(const Question& q) {
  const Progress progress("sim kv-cache");
  Answer a;
  for (const Index n : sizes_up_to(q.tokens)) {
    progress.show(std::to_string(n) + " tokens");
    a.sizes.push_back({n, score_bytes(q.shape, n), kv_cache_bytes(q.shape, n),
                       count("decode", q, decode_problem(q.shape, n))});
  }
  progress.show("prefill");
  a.phases = {count("prefill", q, prefill_problem(q.shape, q.tokens)),
              count("decode, a tile a query head", q, decode_problem(q.shape, q.tokens)),
              count("decode, a tile a group", q, grouped_decode_problem(q.shape, q.tokens))};
  return a;
}

// ---- the answer

std::string memory_table(const Question& q, const Answer& a) {
  std::vector<std::vector<std::string>> rows = {
      {"N", "S, one layer", "S, all layers", "KV cache", "S / cache"}};
  for (const Size& s : a.sizes)
    rows.push_back(
        {short_count(static_cast<double>(s.tokens)), short_bytes(s.scores),
         short_bytes(static_cast<double>(s.scores) * static_cast<double>(q.shape.layers)),
         short_bytes(s.cache),
         short_number(static_cast<double>(s.scores) / static_cast<double>(s.cache))});
  return table(rows);
}

std::string phase_table(const Answer& a) {
  std::vector<std::vector<std::string>> rows = {
      {"attention of all layers", "FLOPs", "read", "written", "FLOP/B", ""}};
  for (const Phase& p : a.phases)
    rows.push_back({p.name, short_flops(p.flops), short_bytes(p.bytes_read),
                    short_bytes(p.bytes_written), short_number(p.intensity()), p.source});
  return table(rows);
}

/// The cache if each query head had keys and values of its own, if one served all, and as given.
std::string heads_table(const Question& q) {
  std::vector<std::vector<std::string>> rows = {
      {"key/value heads", "KV cache", "of multi-head's", ""}};
  const Index whole = q.shape.heads_q;
  const auto add = [&](Index heads_kv, const char* name) {
    DecoderShape shape = q.shape;
    shape.heads_kv = heads_kv;
    rows.push_back({std::to_string(heads_kv), short_bytes(kv_cache_bytes(shape, q.tokens)),
                    "1/" + std::to_string(whole / heads_kv), name});
  };
  add(whole, "multi-head");
  if (q.shape.heads_kv != whole && q.shape.heads_kv != 1)
    add(q.shape.heads_kv, "grouped, as given");
  if (whole != 1) add(1, "multi-query");
  return table(rows);
}

Plot plot_of(const Answer& a) {
  Series scores = {"S, one layer", {}}, cache = {"KV cache", {}}, read = {"read per token", {}};
  for (const Size& s : a.sizes) {
    const double n = static_cast<double>(s.tokens);
    scores.points.push_back({n, static_cast<double>(s.scores), false});
    cache.points.push_back({n, static_cast<double>(s.cache), false});
    read.points.push_back(
        {n, static_cast<double>(s.decode.bytes_read), s.decode.source == "executed"});
  }
  return {"Attention memory of a decoder",
          {"N, tokens of a sequence", Scale::log2, short_count},
          {"bytes", Scale::log10, short_bytes},
          {scores, cache, read}};
}

Records records_of(const Answer& a) {
  Records records = {{"tokens", "score_bytes_one_layer", "kv_cache_bytes", "decode_bytes_read",
                      "decode_flops", "decode_source"},
                     {}};
  for (const Size& s : a.sizes)
    records.rows.push_back(
        {s.tokens, s.scores, s.cache, s.decode.bytes_read, s.decode.flops, s.decode.source});
  return records;
}

Records phase_records(const Answer& a) {
  Records records = {{"phase", "flops", "bytes_read", "bytes_written", "flop_per_byte", "source"},
                     {}};
  for (const Phase& p : a.phases)
    records.rows.push_back(
        {p.name, p.flops, p.bytes_read, p.bytes_written, p.intensity(), p.source});
  return records;
}

void print(const Question& q, const Answer& a) {
  const DecoderShape& s = q.shape;
  const std::string n = std::to_string(q.tokens);
  std::cout << s.layers << " layers, H_q = " << s.heads_q << ", H_kv = " << s.heads_kv
            << ", d = " << s.d << ", B = " << s.batch << ", " << q.dtype << "\n\n"
            << "Memory by tokens N (closed form). Standard attention keeps S of the layer that\n"
               "runs, and of all layers if a backward pass follows; flash attention keeps none.\n\n"
            << memory_table(q, a)
            << "\n  S of one layer and the cache cross at N = " << crossing_tokens(s)
            << " = 2 · layers · d · H_kv / H_q.\n\n"
            << in_characters(plot_of(a)) << "\nAt N = " << n
            << ": a prompt of N tokens at once, or one new token that sees N. Bytes\n"
            << "between HBM and SRAM of fa2_forward, tiles of S " << text_of(blocks) << ".\n\n"
            << phase_table(a)
            << "\n  Decode reads the whole cache for one token. With a tile a query head the\n"
               "  heads of a group each read it again; as rows of one tile they read it once.\n\n"
            << "Cache at N = " << n << " (closed form):\n\n"
            << heads_table(q);
}

void kv_cache(Question& q) {
  q.shape.dtype = dtype_of(q.dtype);
  check(q.shape, q.tokens);
  q.output.check();
  const Answer a = answer(q);
  const Records records = records_of(a);
  const Plot plot = plot_of(a);
  q.output.write(records, svg(plot));
  if (!q.output.json) return print(q, a);
  const nlohmann::ordered_json out = {{"layers", q.shape.layers},
                                      {"heads", q.shape.heads_q},
                                      {"heads_kv", q.shape.heads_kv},
                                      {"d", q.shape.d},
                                      {"batch", q.shape.batch},
                                      {"dtype", q.dtype},
                                      {"crossing_tokens", crossing_tokens(q.shape)},
                                      {"memory_source", "closed form"},
                                      {"rows", as_json(records)},
                                      {"phases", as_json(phase_records(a))}};
  std::cout << out.dump(2) << "\n";
}

}  // namespace

void add_sim_kv_cache(CLI::App& sim) {
  CLI::App* verb = sim.add_subcommand(
      "kv-cache", "a decoder's memory: scores against KV cache, prefill against decode");
  const auto q = std::make_shared<Question>();
  const auto add = [&](const char* flag, Index& value, const char* what) {
    verb->add_option(flag, value, what)->capture_default_str();
  };
  add("--layers", q->shape.layers, "attention layers");
  add("--heads", q->shape.heads_q, "query heads of a layer");
  add("--heads-kv", q->shape.heads_kv, "key/value heads of a layer: fewer are shared by groups");
  add("--d", q->shape.d, "head dimension");
  add("--tokens", q->tokens, "longest sequence, N");
  add("--batch", q->shape.batch, "sequences side by side");
  verb->add_option("--dtype", q->dtype, "fp16, bf16 or fp32: of S, K and V")->capture_default_str();
  verb->add_flag("--analytic", q->analytic,
                 "all from closed forms, the same integers; without it, what is quick is executed");
  q->output.add_to(*verb);
  verb->callback([q] { kv_cache(*q); });
}

}  // namespace flashbook
