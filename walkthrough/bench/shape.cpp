#include "walkthrough/bench/shape.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "cpu_reference/error.hpp"

namespace flashbook::bench {
namespace {

using Index = std::int64_t;

/// What a shape has unless it says otherwise.
struct Convention {
  Index tokens, width;  ///< batch · n, heads · d
};

Convention convention_of(Machine machine) {
  return machine == Machine::gpu ? Convention{16384, 2048} : Convention{1024, 128};
}

struct Words {
  std::vector<Index> n, d;
  std::optional<Index> batch, heads;
  bool causal = false, dense = false, packed = false;
};

Index number_in(const std::string& word, const std::string& digits, Index most) {
  Index value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end || value < 1 || value > most)
    throw InputError("--shape has '" + word + "': pass numbers from 1 to " + std::to_string(most) +
                     ", such as n=512,1024");
  return value;
}

std::vector<Index> list_in(const std::string& word, Index most) {
  std::vector<Index> values;
  std::istringstream list(word.substr(word.find('=') + 1) + ",");
  for (std::string digits; std::getline(list, digits, ',');)
    values.push_back(number_in(word, digits, most));
  return values;
}

void read_word(Words& words, const std::string& word) {
  const std::string key = word.substr(0, word.find('='));
  if (word == "causal")
    words.causal = true;
  else if (word == "dense")
    words.dense = true;
  else if (word == "packed")
    words.packed = true;
  else if (key == "n" && key != word)
    words.n = list_in(word, Index{1} << 20);
  else if (key == "d" && key != word)
    words.d = list_in(word, 256);
  else if (key == "b" && key != word)
    words.batch = number_in(word, word.substr(2), 4096);
  else if (key == "h" && key != word)
    words.heads = number_in(word, word.substr(2), 1024);
  else
    throw InputError(
        "--shape has '" + word +
        "': pass n=TOKENS, d=CHANNELS, b=BATCH, h=HEADS, causal, dense or packed, such as "
        "\"n=4096 d=128 causal\"");
}

std::vector<Shape> combine(const Words& words, const Convention& convention) {
  std::vector<Shape> shapes;
  for (const Index d : words.d)
    for (const bool causal : {false, true})
      for (const bool packed : {false, true})
        for (const Index n : words.n)
          if ((causal ? words.causal : words.dense || !words.causal) && packed <= words.packed)
            shapes.push_back({words.batch.value_or(std::max<Index>(convention.tokens / n, 1)),
                              words.heads.value_or(std::max<Index>(convention.width / d, 1)), n, d,
                              causal, packed});
  return shapes;
}

void check_size(const Shape& shape, const std::string& text) {
  constexpr double most = 1LL << 33;
  const double elements =
      static_cast<double>(shape.batch * shape.heads) * static_cast<double>(shape.n * shape.d);
  if (elements > most)
    throw InputError("--shape is '" + text + "', whose tensors have " +
                     std::to_string(static_cast<Index>(elements)) +
                     " elements: pass at most 2^33, with a smaller b= or h=");
}

}  // namespace

double nominal_flops(const Shape& shape, Pass pass) {
  const auto n = static_cast<double>(shape.n);
  const double dense = 4 * n * n * static_cast<double>(shape.d * shape.heads * shape.batch);
  return dense * (shape.causal ? 0.5 : 1) * (pass == Pass::backward ? 2.5 : 1);
}

AttentionProblem problem_of(const Shape& shape, DType dtype) {
  const Index batch = shape.packed ? 1 : shape.batch;
  const Index tokens = shape.packed ? shape.batch * shape.n : shape.n;
  flashbook_problem p =
      dense_problem(batch, shape.heads, shape.heads, tokens, tokens, shape.d, shape.d);
  p.dtype = static_cast<std::int32_t>(dtype);
  p.causal = shape.causal;
  const flashbook_strides strides = bhnd_strides(tokens, shape.heads, shape.d);
  for (flashbook_strides* each :
       {&p.q, &p.k, &p.v, &p.o, &p.grad_o, &p.grad_q, &p.grad_k, &p.grad_v})
    *each = strides;
  if (!shape.packed) return AttentionProblem(p);
  p.packed = 1;
  p.members = shape.batch;
  std::vector<Index> offsets;
  for (Index member = 0; member <= shape.batch; ++member) offsets.push_back(member * shape.n);
  return AttentionProblem(p, offsets, offsets);
}

std::string text_of(const Shape& shape) {
  return "n = " + std::to_string(shape.n) + ", d = " + std::to_string(shape.d) +
         (shape.causal ? ", causal" : "") +
         (shape.packed ? ", packed, " + std::to_string(shape.batch) + " members, "
                       : ", batch " + std::to_string(shape.batch) + ", ") +
         std::to_string(shape.heads) + (shape.heads == 1 ? " head" : " heads");
}

std::vector<Shape> default_shapes(Machine machine) {
  if (machine == Machine::cpu) return combine({{128, 256}, {64}, 1, 2, true, true, false}, {});
  return combine({{512, 1024, 2048, 4096, 8192, 16384}, {64, 128, 256}, {}, {}, true, true, false},
                 convention_of(machine));
}

std::vector<Shape> parse_shapes(const std::string& text, Machine machine) {
  Words words;
  std::istringstream in(text);
  for (std::string word; in >> word;) read_word(words, word);
  if (words.n.empty() || words.d.empty())
    throw InputError("--shape is '" + text + "': it must have n= and d=, such as \"n=4096 d=128\"");
  std::vector<Shape> shapes = combine(words, convention_of(machine));
  for (const Shape& shape : shapes) check_size(shape, text);
  return shapes;
}

}  // namespace flashbook::bench
