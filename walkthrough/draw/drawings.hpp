#pragma once

#include <string>

#include "walkthrough/draw/fragments.hpp"

/// What `draw` shows, in characters for a terminal and as SVG.
namespace flashbook::draw {

/// A, B^T and D, an element or register a cell; a * marks those of one lane.
std::string product_text(const Product& product, int lane);
std::string product_svg(const Product& product, int lane);

/// Which numbers of two results are which of a left operand.
std::string scores_text(const Product& product);

std::string banks_text(const std::vector<Layout>& layouts);
std::string banks_svg(const std::vector<Layout>& layouts);

}  // namespace flashbook::draw
