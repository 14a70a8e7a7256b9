#include "tests/conformance/problem_spec.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "cpu_reference/error.hpp"
#include "tests/conformance/problem_words.hpp"

namespace flashbook::conformance {
namespace {

// The texts of each enumeration, in the order of its enumerators.
constexpr std::string_view value_names[] = {
    "normal",         "five-normal",    "small-normal",     "outlier",     "flat",   "constant-v",
    "flat-constant",  "repeated",       "q-is-k",           "q-is-k-is-v", "sharp",  "logits-1e4",
    "logits-std-1e2", "logits-std-1e3", "logits-minus-100", "logits-1e10", "rising", "falling",
    "huge-key",       "huge-half",      "rising-large-v"};
constexpr std::string_view cotangent_names[] = {"normal", "ones", "zero"};
constexpr std::string_view bias_names[] = {"normal", "minus-1e4", "hidden", "padded", "lowest"};
constexpr std::string_view plant_names[] = {"none",        "nan-q",      "nan-k", "nan-v",
                                            "nan-do",      "nan-bias",   "inf-k", "inf-v",
                                            "inf-k-nan-v", "minus-inf-k"};
constexpr std::string_view dtype_names[] = {"fp16", "bf16", "fp32", "fp64"};
constexpr std::string_view alignment_names[] = {"bottom-right", "top-left"};
constexpr std::string_view layout_names[] = {"bnhd", "bhnd"};
constexpr std::string_view alibi_names[] = {"none", "h", "bh"};

struct StridedTensor {
  const char* key;
  flashbook_strides flashbook_problem::*strides;
};
constexpr StridedTensor strided_tensors[] = {
    {"strides_q", &flashbook_problem::q},       {"strides_k", &flashbook_problem::k},
    {"strides_v", &flashbook_problem::v},       {"strides_o", &flashbook_problem::o},
    {"strides_do", &flashbook_problem::grad_o}, {"strides_dq", &flashbook_problem::grad_q},
    {"strides_dk", &flashbook_problem::grad_k}, {"strides_dv", &flashbook_problem::grad_v},
};

/// The problem with every stride as the layout has it.
flashbook_problem with_layout(flashbook_problem p, bool bhnd) {
  const auto strides = bhnd ? bhnd_strides : bnhd_strides;
  p.q = p.grad_q = strides(p.n_q, p.heads_q, p.d);
  p.k = p.grad_k = strides(p.n_k, p.heads_kv, p.d);
  p.v = p.grad_v = strides(p.n_k, p.heads_kv, p.d_v);
  p.o = p.grad_o = strides(p.n_q, p.heads_q, p.d_v);
  return p;
}

bool equal(const flashbook_strides& a, const flashbook_strides& b) {
  return a.batch == b.batch && a.token == b.token && a.head == b.head;
}

// ---- reading

/// What a size may be, so that no product or sum of sizes and strides overflows.
struct Limit {
  const char* key;
  std::int64_t most;
};
constexpr Limit size_limits[] = {{"b", 1 << 20},  {"hq", 1 << 12}, {"hkv", 1 << 12},
                                 {"nq", 1 << 24}, {"nk", 1 << 24}, {"d", 1 << 12},
                                 {"dv", 1 << 12}};
constexpr std::int64_t most_elements = std::int64_t{1} << 48;  // of a tensor, or pairs
constexpr std::int64_t largest_window = 1 << 30;

void read_window(Words& words, flashbook_problem& p) {
  const auto text = words.take("window");
  if (!text) return;
  const std::vector<std::string> sides = split(*text);
  if (sides.size() != 2) Words::refuse("window", *text, "LEFT,RIGHT in keys, inf for no limit");
  const auto side = [](const std::string& s) {
    const std::int64_t keys = s == "inf" ? unbounded : to_integer("window", s);
    if (keys != unbounded && (keys < -largest_window || keys > largest_window))
      Words::refuse("window", s, "up to " + std::to_string(largest_window) + " keys, or inf");
    return keys;
  };
  p.window_left = side(sides[0]);
  p.window_right = side(sides[1]);
}

void read_bias(Words& words, flashbook_problem& p) {
  const auto text = words.take("bias");
  if (!text) return;
  constexpr std::string_view axes = "bhqk";
  const std::int64_t full[4] = {p.batch, p.heads_q, p.n_q, p.n_k};
  const std::vector<std::string> parts = split(*text);
  std::array<std::int64_t, 4> sizes = {};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const bool is_full = parts.size() == 4 && parts[axis] == axes.substr(axis, 1);
    if (parts.size() != 4 || (!is_full && parts[axis] != "1"))
      Words::refuse("bias", *text, "b,h,q,k with 1 for an axis it is broadcast along");
    sizes[axis] = is_full ? full[axis] : 1;
  }
  set_contiguous_bias(p, sizes);
}

Recipe read_recipe(Words& words) {
  return {static_cast<Values>(read_choice(words, "data", value_names, 0)),
          static_cast<CotangentValues>(read_choice(words, "do", cotangent_names, 0)),
          static_cast<BiasValues>(read_choice(words, "biasdata", bias_names, 0)),
          static_cast<Planted>(read_choice(words, "plant", plant_names, 0))};
}

void check_product(const char* what, std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) {
    if (size > 0 && product > most_elements / size)
      throw InputError(std::string("problem: ") + what + " is more than " +
                       std::to_string(most_elements) + ": make one of these sizes smaller");
    product *= size;
  }
}

flashbook_problem read_sizes(Words& words) {
  const auto size = [&](const char* key, std::int64_t otherwise) {
    read(words, key, otherwise);
    for (const auto& [limited, most] : size_limits)
      if (std::string_view(limited) == key && (otherwise < 0 || otherwise > most))
        Words::refuse(key, std::to_string(otherwise), "0 to " + std::to_string(most));
    return otherwise;
  };
  const std::int64_t b = size("b", 1), hq = size("hq", 1), nq = size("nq", 64), d = size("d", 64);
  const std::int64_t hkv = size("hkv", hq), nk = size("nk", nq), dv = size("dv", d);
  check_product("b·nq·hq·d", {b, nq, hq, d});
  check_product("b·nq·hq·dv", {b, nq, hq, dv});
  check_product("b·nk·hkv·d", {b, nk, hkv, d});
  check_product("b·nk·hkv·dv", {b, nk, hkv, dv});
  check_product("b·hq·nq·nk", {b, hq, nq, nk});
  return dense_problem(b, hq, hkv, nq, nk, d, dv);
}

// ---- writing

std::string text_of(double x) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
}

template <class List>
std::string text_of_list(const List& list) {
  std::string text;
  for (std::int64_t x : list)
    text.append(text.empty() ? "" : ",").append(x == unbounded ? "inf" : std::to_string(x));
  return text;
}

/// Collects `key=value` words.
struct Line {
  std::string text;
  void add(const std::string& word) { text.append(text.empty() ? "" : " ").append(word); }
  void add(const std::string& key, const std::string& value) { add(key + "=" + value); }
  void add_unless(std::int64_t usual, const std::string& key, std::int64_t value) {
    if (value != usual) add(key, std::to_string(value));
  }
  void add_choice(const std::string& key, std::span<const std::string_view> names, int value) {
    if (value != 0) add(key, std::string(names[static_cast<std::size_t>(value)]));
  }
};

void write_bias(Line& line, const flashbook_problem& p) {
  if (!p.has_bias) return;
  std::string axes;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    axes += axis == 0 ? "" : ",";
    axes += p.bias_shape[axis] == 1 ? '1' : "bhqk"[axis];
  }
  line.add("bias", axes);
  flashbook_problem usual = p;
  set_contiguous_bias(usual, std::to_array(p.bias_shape));
  if (!std::equal(p.bias_strides, p.bias_strides + 4, usual.bias_strides))
    line.add("strides_bias", text_of_list(p.bias_strides));
}

void write_strides(Line& line, const flashbook_problem& p) {
  const flashbook_problem bnhd = with_layout(p, false), bhnd = with_layout(p, true);
  const auto differing = [&](const flashbook_problem& usual) {
    int count = 0;
    for (const auto& [key, strides] : strided_tensors) count += !equal(p.*strides, usual.*strides);
    return count;
  };
  const bool is_bhnd = differing(bhnd) < differing(bnhd);
  if (is_bhnd) line.add("layout", "bhnd");
  for (const auto& [key, strides] : strided_tensors) {
    const flashbook_strides& s = p.*strides;
    if (!equal(s, (is_bhnd ? bhnd : bnhd).*strides))
      line.add(key, text_of_list(std::array{s.batch, s.token, s.head}));
  }
}

}  // namespace

ProblemSpec parse_problem(std::string_view text) {
  Words words(text);
  flashbook_problem p = read_sizes(words);
  p.dtype = read_choice(words, "dtype", dtype_names, FLASHBOOK_FP32);
  p.alignment = read_choice(words, "align", alignment_names, FLASHBOOK_BOTTOM_RIGHT);
  p.causal = words.flag("causal");
  read_window(words, p);
  read(words, "scale", p.scale);
  read(words, "softcap", p.softcap);
  read_bias(words, p);
  read_strides(words, "strides_bias", p.bias_strides);
  p.alibi = read_choice(words, "alibi", alibi_names, FLASHBOOK_NO_ALIBI);
  p.has_sinks = words.flag("sinks");
  p.has_dlse = words.flag("dlse");
  const auto cu_q = read_list(words, "cu_q"), cu_k = read_list(words, "cu_k");
  p.packed = !cu_q.empty() || !cu_k.empty();
  if (p.packed) p.members = static_cast<std::int64_t>(cu_q.size()) - 1;
  p = with_layout(p, read_choice(words, "layout", layout_names, 0) == 1);
  for (const auto& [key, strides] : strided_tensors) {
    std::int64_t values[3] = {(p.*strides).batch, (p.*strides).token, (p.*strides).head};
    read_strides(words, key, values);
    p.*strides = {values[0], values[1], values[2]};
  }
  const Recipe recipe = read_recipe(words);
  words.refuse_the_rest();
  return {AttentionProblem(p, cu_q, cu_k), recipe};
}

std::string format_problem(const ProblemSpec& spec) {
  const flashbook_problem& p = spec.problem.fields();
  Line line;
  line.add_unless(1, "b", p.batch);
  line.add_unless(1, "hq", p.heads_q);
  line.add_unless(p.heads_q, "hkv", p.heads_kv);
  line.add_unless(64, "nq", p.n_q);
  line.add_unless(p.n_q, "nk", p.n_k);
  line.add_unless(64, "d", p.d);
  line.add_unless(p.d, "dv", p.d_v);
  if (p.dtype != FLASHBOOK_FP32) line.add("dtype", std::string(name(spec.problem.dtype())));
  if (p.causal) line.add("causal");
  line.add_choice("align", alignment_names, p.alignment);
  if (p.window_left != unbounded || p.window_right != unbounded)
    line.add("window", text_of_list(std::array{p.window_left, p.window_right}));
  if (p.scale != 1 / std::sqrt(static_cast<double>(p.d))) line.add("scale", text_of(p.scale));
  if (p.softcap != 0) line.add("softcap", text_of(p.softcap));
  write_bias(line, p);
  line.add_choice("alibi", alibi_names, p.alibi);
  if (p.has_sinks) line.add("sinks");
  if (p.has_dlse) line.add("dlse");
  if (p.packed) {
    line.add("cu_q", text_of_list(spec.problem.cu_seqlens_q()));
    line.add("cu_k", text_of_list(spec.problem.cu_seqlens_k()));
  }
  write_strides(line, p);
  line.add_choice("data", value_names, static_cast<int>(spec.recipe.values));
  line.add_choice("do", cotangent_names, static_cast<int>(spec.recipe.cotangents));
  line.add_choice("biasdata", bias_names, static_cast<int>(spec.recipe.bias));
  line.add_choice("plant", plant_names, static_cast<int>(spec.recipe.planted));
  return line.text;
}

}  // namespace flashbook::conformance
