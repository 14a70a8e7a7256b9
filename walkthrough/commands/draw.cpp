#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cpu_reference/error.hpp"
#include "walkthrough/commands/commands.hpp"
#include "walkthrough/draw/drawings.hpp"
#include "walkthrough/output_file.hpp"

namespace flashbook {
namespace {

using namespace draw;

struct Options {
  std::string what, svg;
  int lane = 13;
};

/// In characters, and the picture; empty where there is none.
struct Drawing {
  std::string text, svg;
};

Drawing drawing_of(const Options& options) {
  if (options.what == "banks") {
    const std::vector<Layout> layouts = run_layouts();
    return {banks_text(layouts), banks_svg(layouts)};
  }
  if (options.what != "product" && options.what != "scores")
    throw InputError("WHAT is '" + options.what +
                     "', which is not drawn: pass product, scores or banks");
  const Product product = run_product();
  if (options.what == "scores") return {scores_text(product), ""};
  return {product_text(product, options.lane), product_svg(product, options.lane)};
}

void run_command(const Options& options) {
  if (options.lane < 0 || options.lane > 31)
    throw InputError("--lane is " + std::to_string(options.lane) +
                     ": a warp has the lanes 0 to 31; pass one of these");
  if (!options.svg.empty()) check_writable("--svg", options.svg);
  const Drawing drawing = drawing_of(options);
  if (!options.svg.empty() && drawing.svg.empty())
    throw InputError("--svg is '" + options.svg + "': there is no picture of " + options.what +
                     "; leave it out, or draw product or banks");
  if (!options.svg.empty()) write_file("--svg", options.svg, drawing.svg);
  std::cout << drawing.text;
}

}  // namespace

void add_draw(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "draw", "which lane of a warp holds what of a product, and which banks a tile lies in");
  verb->add_option("WHAT", options->what,
                   "product: an mma's matrices; scores: results as operands; banks: rows of a "
                   "tile in shared memory")
      ->required();
  verb->add_option("--lane", options->lane, "the lane to mark in product")->capture_default_str();
  verb->add_option("--svg", options->svg, "writes the picture to this file");
  verb->callback([options] { run_command(*options); });
}

}  // namespace flashbook
