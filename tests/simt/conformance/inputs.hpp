#pragma once

#include "tests/simt/conformance/dump.hpp"

/// The operands of the probes: the same words wherever they are made.
namespace flashbook::probes {

/// An operand of mma as numbers, and as the lanes hold it.
struct Product {
  float A[16][16], B[16][8], C[16][8];
};

enum class Type { fp16, bf16 };
enum class Values { integers, random };

inline constexpr int products = 8;

/// Products whose operands are exact in the type: integers up to 8 in magnitude, or random numbers
/// of both signs over six powers of two.
std::vector<Product> make_products(Type type, Values values);
/// [products][32 lanes][A: 4 words, B: 2, C: 4]
Words fragments_of(const std::vector<Product>& all, Type type);
/// Element [row][column] of a result [products][32 lanes][4].
float element_of(const Words& result, int product, int row, int column);

/// Operands of wgmma: A [64][64], B [64][n], C [64][n], row by row.
struct WgmmaProblem {
  int n;
  std::vector<float> A, B, C;
};
WgmmaProblem make_wgmma_problem(int n, Type type, Values values);
/// A, then B by its transposed [n][64], then B in rows of a multiple of 64, zeros behind: pairs of
/// elements. Then C as the threads hold it, [128][n / 2].
Words words_of(const WgmmaProblem& problem, Type type);
/// Row and column of accumulator i of a thread of a warpgroup.
struct Element {
  int row, column;
};
Element wgmma_element(int thread, int i);

Words shuffle_operands();
Words vote_masks();
Words random_words(std::size_t n, unsigned seed);
Words small_integers(std::size_t n, unsigned seed);
/// Integers, random numbers, ends of the range, infinities, NaN, subnormal numbers.
Words exp2_operands();
/// Random bit patterns, and the numbers around every kind of tie of the 16-bit types.
Words conversion_operands();

}  // namespace flashbook::probes
