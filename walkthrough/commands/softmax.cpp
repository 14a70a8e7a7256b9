#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <sstream>

#include "cpu_reference/error.hpp"
#include "walkthrough/chapters/02_online_softmax/three_softmaxes.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"

namespace flashbook {
namespace {

using Scores = std::vector<float>;

constexpr std::size_t most_scores = 6;  // fit 80 columns
constexpr const char* hidden = "hidden";

struct Options {
  std::vector<std::string> scores;
  Index piece = 1;
  float start = io::minus_infinity;
  std::string forget;
  bool count = false, merge = false;
};

float score_of(const std::string& text) {
  if (text == hidden) return io::minus_infinity;
  std::istringstream in(text);
  float score = 0;
  if (in >> score && in.eof() && std::isfinite(score)) return score;
  throw InputError("score is '" + text + "': pass finite numbers, or the word hidden for −∞");
}

void check(const Options& options) {
  std::ostringstream out;
  if (options.piece < 1)
    out << "piece (--piece) is " << options.piece << ": pass at least 1 score at a time";
  else if (options.start != io::minus_infinity && !std::isfinite(options.start))
    out << "start (--start) is " << options.start << ": pass a finite number, or leave it out";
  else
    return;
  throw InputError(out.str());
}

Scores scores_of(const Options& options) {
  if (options.scores.size() > most_scores)
    throw InputError("scores are " + std::to_string(options.scores.size()) +
                     " in number: at most 6 fit the screen; pass 1 to 6");
  Scores scores;
  for (const std::string& text : options.scores) scores.push_back(score_of(text));
  if (options.count && std::count(scores.begin(), scores.end(), io::minus_infinity) > 0)
    throw InputError("a score is hidden: --count takes finite scores; leave it out");
  return scores;
}

/// A score, a maximum or an LSE.
std::string text_of(double score) {
  if (score == io::minus_infinity) return "−∞";
  std::ostringstream out;
  out << score;
  return out.str();
}

/// The softmax in double precision, and its LSE.
struct Exact {
  explicit Exact(const Scores& scores) {
    const double m = *std::max_element(scores.begin(), scores.end());
    double l = 0;
    for (const float s : scores) l += s == io::minus_infinity ? 0 : std::exp(s - m);
    lse = m + std::log(l);
    for (const float s : scores) P.push_back(s == io::minus_infinity ? 0 : std::exp(s - lse));
  }
  std::vector<double> P;
  double lse = 0;
};

double largest_difference(const Scores& got, const std::vector<double>& exact) {
  double largest = 0;
  for (std::size_t j = 0; j < got.size(); ++j) {
    const double difference = std::abs(got[j] - exact[j]);
    if (!(difference <= largest)) largest = difference;  // NaN too
  }
  return largest;
}

// ---- piece by piece

/// A row that arrives in pieces. Its values V are the rows of an identity matrix, so that o holds
/// what each score weighs.
struct Row {
  io::SoftmaxState state;
  Scores o;
  float alpha = 1;
};

/// The next piece, with what --forget says left out.
void take_in(Row& row, const Scores& scores, std::size_t first, const Options& options) {
  const Index left = static_cast<Index>(scores.size() - first);
  Eigen::ArrayXf P =
      Eigen::Map<const Eigen::ArrayXf>(&scores[first], std::min(options.piece, left));
  const float l_old = row.state.l;
  row.alpha = io::absorb(P, row.state.m, row.state.l);
  if (options.forget == "both") row.state.l = l_old + P.sum();
  if (options.forget.empty())
    for (float& weight : row.o) weight *= row.alpha;
  row.o.insert(row.o.end(), P.begin(), P.end());
}

std::string keys_text(std::size_t first, std::size_t end) {
  const std::string text = std::to_string(first);
  return end - first < 2 ? text : text + "–" + std::to_string(end - 1);
}

std::string cell(double number) {
  return std::isnan(number) ? "NaN" : fixed(number, 4);
}

template <class Numbers>
void append(std::vector<std::string>& cells, const Numbers& numbers) {
  for (const auto number : numbers) cells.push_back(cell(number));
}

void show_pieces(const Scores& scores, const Options& options) {
  std::vector<std::vector<std::string>> rows = {{"keys", "m", "α", "ℓ"}};
  for (const float score : scores) rows[0].push_back(text_of(score));
  Row row;
  row.state.m = options.start;
  while (row.o.size() < scores.size()) {
    const std::size_t first = row.o.size();
    take_in(row, scores, first, options);
    rows.push_back({keys_text(first, row.o.size()), text_of(row.state.m), fixed(row.alpha, 4),
                    fixed(row.state.l, 4)});
    append(rows.back(), row.o);
  }
  const Exact exact(scores);
  for (float& weight : row.o)
    if (row.state.l != 0) weight /= row.state.l;
  rows.push_back({"o/ℓ", "", "", ""});
  append(rows.back(), row.o);
  rows.push_back({"exact", "", "", ""});
  append(rows.back(), exact.P);
  std::cout << table(rows) << "\n  LSE = m + ln ℓ = " << text_of(row.state.lse()) << ", exact "
            << text_of(exact.lse) << "; weights differ by at most "
            << cell(largest_difference(row.o, exact.P)) << "\n";
}

// ---- parts merged

using States = std::vector<io::SoftmaxState>;

std::string text_of(const States& states) {
  std::string text;
  for (const io::SoftmaxState& state : states)
    text += " (" + text_of(state.m) + ", " + fixed(state.l, 4) + ")";
  return text;
}

States merged_in_pairs(const States& parts) {
  States merged;
  for (std::size_t i = 0; i < parts.size(); i += 2)
    merged.push_back(i + 1 < parts.size() ? io::merge(parts[i], parts[i + 1]).state : parts[i]);
  return merged;
}

template <class Iterator>
io::SoftmaxState merged_in_turn(Iterator first, Iterator last) {
  io::SoftmaxState state;
  for (; first != last; ++first) state = io::merge(state, *first).state;
  return state;
}

void show_merge(const Scores& scores, const Options& options) {
  States parts;
  for (std::size_t first = 0; first < scores.size();) {
    Row part;
    take_in(part, scores, first, options);
    parts.push_back(part.state);
    first += part.o.size();
  }
  std::cout << "  (m, ℓ) of each piece " << text_of(parts) << "\n";
  for (States level = parts; level.size() > 1;) {
    level = merged_in_pairs(level);
    std::cout << "  merged in pairs      " << text_of(level) << "\n";
  }
  std::cout << "  from first to last   "
            << text_of(States{merged_in_turn(parts.begin(), parts.end())})
            << "\n  from last to first   "
            << text_of(States{merged_in_turn(parts.rbegin(), parts.rend())}) << "\n";
}

// ---- accesses counted

void show_counts(const Scores& scores) {
  std::vector<std::vector<std::string>> rows = {{"softmax", "reads", "writes", "each"}};
  for (const float score : scores) rows[0].push_back(text_of(score));
  const auto count = [&](const char* name, void (*softmax)(book::CountedRow&)) {
    book::CountedRow row(scores);
    softmax(row);
    const double each =
        static_cast<double>(row.reads() + row.writes()) / static_cast<double>(row.size());
    rows.push_back(
        {name, std::to_string(row.reads()), std::to_string(row.writes()), short_number(each)});
    append(rows.back(), row.values());
  };
  count("naive", book::naive_softmax);
  count("safe", book::safe_softmax);
  count("online", book::online_softmax);
  std::cout << table(rows) << "\n  each: accesses of memory, an element\n";
}

void softmax(const Options& options) {
  check(options);
  const Scores scores = scores_of(options);
  if (options.count) return show_counts(scores);
  if (options.merge) return show_merge(scores, options);
  show_pieces(scores, options);
}

}  // namespace

void add_softmax(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("softmax", "a row's softmax, piece by piece (chapter 2)");
  const auto options = std::make_shared<Options>();
  verb->add_option("scores", options->scores, "up to 6 numbers; hidden is −∞")->required();
  verb->add_option("--piece", options->piece, "scores that arrive at a time")
      ->capture_default_str();
  CLI::Option* start = verb->add_option("--start", options->start,
                                        "the first maximum (without it: −∞, which is right)");
  CLI::Option* forget =
      verb->add_option("--forget", options->forget, "o: do not correct o; both: nor ℓ")
          ->check(CLI::IsMember({"o", "both"}));
  CLI::Option* merge = verb->add_flag("--merge", options->merge, "compute pieces apart, and merge");
  verb->add_flag("--count", options->count, "count what three ways to compute it read and write")
      ->excludes(start, forget, merge);
  merge->excludes(start, forget);
  verb->callback([options] { softmax(*options); });
}

}  // namespace flashbook
