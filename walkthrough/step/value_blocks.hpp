#pragma once

#include <string>
#include <vector>

#include "sim/io/steps.hpp"

namespace flashbook::step {

/// Lines of one width, to be set beside others.
using Block = std::vector<std::string>;

/// The equation above the numbers. Pairs that S hides are dots; of more than 8 rows or columns the
/// first 4 stand before an ellipsis, and the heading says the whole size. `S` may be null.
Block block_of(const io::Step::Shown& shown, const Matrix<float>* S);

/// A number in three decimals, and what is no number.
std::string number_text(double x);

/// Blocks side by side in reading order, as many as fit into 80 columns, indented.
std::vector<Block> in_rows(const std::vector<Block>& blocks);

}  // namespace flashbook::step
