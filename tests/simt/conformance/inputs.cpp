#include "tests/simt/conformance/inputs.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "sim/simt/half.hpp"

namespace flashbook::probes {
namespace {

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

int integer(std::mt19937& generator) {
  return static_cast<int>(generator() % 17) - 8;
}

/// A sign, 8 significant bits and one of six powers of two: exact in both types.
float random_number(std::mt19937& generator) {
  const float fraction = 128 + static_cast<float>(generator() % 128);
  const int exponent = static_cast<int>(generator() % 6) - 10;
  return std::ldexp(generator() % 2 ? fraction : -fraction, exponent);
}

std::uint32_t element_bits(float x, Type type) {
  using namespace emulated;
  return type == Type::fp16 ? from_float<half>(x).bits : from_float<bfloat16>(x).bits;
}

std::uint32_t pair(float low, float high, Type type) {
  return element_bits(low, type) | element_bits(high, type) << 16;
}

}  // namespace

std::vector<Product> make_products(Type type, Values values) {
  std::mt19937 generator(type == Type::fp16 ? 1 : 2);
  const auto number = [&] {
    return values == Values::integers ? static_cast<float>(integer(generator))
                                      : random_number(generator);
  };
  std::vector<Product> all(products);
  for (Product& p : all) {
    for (auto& row : p.A)
      for (float& x : row) x = number();
    for (auto& row : p.B)
      for (float& x : row) x = number();
    for (auto& row : p.C)
      for (float& x : row) x = number();
  }
  return all;
}

// The layout is written here from the PTX manual once more, and not taken from the emulator.
Words fragments_of(const std::vector<Product>& all, Type type) {
  Words words;
  for (const Product& p : all)
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane >> 2, in_group = lane & 3;
      for (int i = 0; i < 4; ++i) {
        const int row = group + (i & 1) * 8, column = in_group * 2 + (i >> 1) * 8;
        words.push_back(pair(p.A[row][column], p.A[row][column + 1], type));
      }
      for (int i = 0; i < 2; ++i) {
        const int row = in_group * 2 + i * 8;
        words.push_back(pair(p.B[row][group], p.B[row + 1][group], type));
      }
      for (int i = 0; i < 4; ++i)
        words.push_back(bits(p.C[group + (i >> 1) * 8][in_group * 2 + (i & 1)]));
    }
  return words;
}

float element_of(const Words& result, int product, int row, int column) {
  const int lane = row % 8 * 4 + column / 2, i = row / 8 * 2 + column % 2;
  const int word = (product * 32 + lane) * 4 + i;
  return std::bit_cast<float>(result[static_cast<std::size_t>(word)]);
}

WgmmaProblem make_wgmma_problem(int n, Type type, Values values) {
  std::mt19937 generator(static_cast<unsigned>(n) * 2 + (type == Type::fp16));
  const auto numbers = [&](int count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (float& x : all)
      x = values == Values::integers ? static_cast<float>(integer(generator))
                                     : random_number(generator);
    return all;
  };
  WgmmaProblem p = {n, numbers(64 * 64), numbers(64 * n), numbers(64 * n)};
  return p;
}

Words words_of(const WgmmaProblem& p, Type type) {
  Words words;
  const auto at = [](const std::vector<float>& x, int i) { return x[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < 64 * 64; i += 2) words.push_back(pair(at(p.A, i), at(p.A, i + 1), type));
  for (int j = 0; j < p.n; ++j)
    for (int k = 0; k < 64; k += 2)
      words.push_back(pair(at(p.B, k * p.n + j), at(p.B, (k + 1) * p.n + j), type));
  for (int k = 0; k < 64; ++k)
    for (int j = 0; j < (p.n + 63) / 64 * 64; j += 2)
      words.push_back(j < p.n ? pair(at(p.B, k * p.n + j), at(p.B, k * p.n + j + 1), type) : 0);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < p.n / 2; ++i) {
      const auto [row, column] = wgmma_element(thread, i);
      words.push_back(bits(at(p.C, row * p.n + column)));
    }
  return words;
}

Element wgmma_element(int thread, int i) {
  const int warp = thread >> 5, group = thread >> 2 & 7, in_group = thread & 3;
  return {warp * 16 + (i >> 1 & 1) * 8 + group, (i >> 2) * 8 + in_group * 2 + (i & 1)};
}

Words shuffle_operands() {
  return {0, 1, 2, 5, 16, 17, 31};
}

Words vote_masks() {
  return {0, 1, 0x80000000u, 0xffffffffu, 0x7fffffffu, 0x12345678u};
}

Words random_words(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  Words words(n);
  for (auto& word : words) word = static_cast<std::uint32_t>(generator());
  return words;
}

Words small_integers(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  Words words(n);
  for (auto& word : words) word = static_cast<std::uint32_t>(integer(generator));
  return words;
}

Words exp2_operands() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Words words;
  for (int i = -152; i <= 129; ++i) words.push_back(bits(static_cast<float>(i)));
  std::mt19937 generator(5);
  for (int i = 0; i < 512; ++i)
    words.push_back(bits(std::ldexp(static_cast<float>(generator()), -26) - 32));
  for (const float x : {infinity, -infinity, 1e-40f, -1e-40f, -126.5f, 127.99f, -0.f})
    words.push_back(bits(x));
  words.push_back(0x7fc00000u);
  return words;
}

Words conversion_operands() {
  Words words = random_words(512, 6);
  for (const std::uint32_t mantissa :
       {0u, 0x1000u, 0x1fffu, 0x3000u, 0x7fffu, 0x8000u, 0x18000u, 0x7fffffu, 0x7ff000u, 0x7f8000u})
    for (const std::uint32_t exponent : {0u, 1u, 101u, 102u, 103u, 112u, 113u, 127u, 142u, 254u})
      words.push_back(exponent << 23 | mantissa);
  words.insert(words.end(), {0x7f800000u, 0xff800000u, 0x477fefffu, 0x477ff000u, 0x33000000u,
                             0x33000001u, 0x7f7f7fffu, 0x7f7f8000u});
  return words;
}

}  // namespace flashbook::probes
