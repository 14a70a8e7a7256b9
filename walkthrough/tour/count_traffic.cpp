#include <iostream>

#include "sim/io/bounds.hpp"
#include "sim/io/closed_form/closed_form.hpp"
#include "walkthrough/number_table.hpp"
#include "walkthrough/numbers.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/progress.hpp"
#include "walkthrough/tour/tour.hpp"
#include "walkthrough/traffic_run.hpp"

namespace flashbook::tour {
namespace {

constexpr Index d = 64, most_tokens = 65536, most_executed = 4096, sram_bytes = 164 * 1024;
constexpr Index element_bytes = 2;

AttentionProblem square_problem(Index n) {
  flashbook_problem p = dense_problem(1, 1, 1, n, n, d, d);
  p.dtype = FLASHBOOK_FP16;
  return AttentionProblem(p);
}

struct Size {
  Index n;
  io::Blocks blocks;
  io::Report standard, flash;
  double bound;  ///< bytes

  static double bytes(const io::Report& report) {
    return static_cast<double>(report.bytes_read() + report.bytes_written());
  }
};

Size count(Index n) {
  const AttentionProblem problem = square_problem(n);
  const io::Algorithm &standard = io::find_algorithm("standard_forward"),
                      &flash = io::find_algorithm("fa2_forward");
  const io::Blocks blocks = io::best_blocks(flash, problem, sram_bytes);
  const double bound = io::forward_lower_bound(
      {static_cast<double>(n), d, static_cast<double>(sram_bytes / element_bytes)});
  if (n > most_executed)
    return {n, blocks, io::closed_form(standard, problem),
            io::closed_form(flash, problem, {blocks}), element_bytes * bound};
  return {n, blocks, run_on_random(standard, problem),
          run_on_random(flash, problem, {{blocks}, sram_bytes}), element_bytes * bound};
}

std::vector<Size> count_all() {
  std::vector<Size> sizes;
  const Progress progress("counting");
  for (Index n = 1024; n <= most_tokens; n *= 2) {
    progress.show(short_count(static_cast<double>(n)) + " tokens");
    sizes.push_back(count(n));
  }
  return sizes;
}

std::string table_of(const std::vector<Size>& sizes) {
  std::vector<std::vector<std::string>> rows = {
      {"N", "standard", "flash", "B_r × B_c", "bound", "standard/flash", "counted by"}};
  for (const Size& size : sizes)
    rows.push_back({short_count(static_cast<double>(size.n)),
                    short_bytes(Size::bytes(size.standard)), short_bytes(Size::bytes(size.flash)),
                    std::to_string(size.blocks.rows) + " × " + std::to_string(size.blocks.columns),
                    short_bytes(size.bound),
                    fixed(Size::bytes(size.standard) / Size::bytes(size.flash), 1),
                    size.flash.executed ? "running it" : "closed form"});
  return table(rows);
}

Plot plot_of(const std::vector<Size>& sizes) {
  Plot plot = {"Memory traffic of attention, one head",
               {"tokens N", Scale::log2, short_count},
               {"bytes moved", Scale::log10, short_bytes},
               {}};
  plot.series = {{"standard", {}}, {"flash (FA2)", {}}, {"lower bound", {}}};
  for (const Size& size : sizes) {
    const double n = static_cast<double>(size.n);
    plot.series[0].points.push_back({n, Size::bytes(size.standard), size.standard.executed});
    plot.series[1].points.push_back({n, Size::bytes(size.flash), size.flash.executed});
    plot.series[2].points.push_back({n, size.bound, false});
  }
  return plot;
}

void explain(const Size& last) {
  const double fewer = 2 * static_cast<double>(last.blocks.rows) / d;
  std::cout << R"(
  standard  writes S and P, N × N each, and reads them back: 4N² elements.
            It is given all the fast memory it likes: )"
            << short_bytes(static_cast<double>(last.standard.peak_sram_bytes)) << " at "
            << short_count(static_cast<double>(last.n)) << R"(.
  flash     reads K and V once for every B_r queries: 2N²d/B_r elements,
            2B_r/d = )"
            << fixed(fewer, 0) << R"( times fewer, and B_r is what fits in fast memory
  bound     what any order of the same products must move, by proof: Q, K, V
            and O once, or N²d²/(M+4d²) − M, with M elements of fast memory

A tile is B_r queries × B_c keys, the pair that moves the fewest bytes. A wide
B_c saves nothing here; it is what keeps arithmetic units busy.

)";
}

}  // namespace

void count_traffic(const std::filesystem::path& svg_file) {
  print_heading("2. Bytes between slow and fast memory, N = 1k … 64k");
  const std::vector<Size> sizes = count_all();
  std::cout << "Forward, d = " << d << ", fp16, " << sram_bytes / 1024
            << " KiB of fast memory (an A100's multiprocessor).\n\n"
            << table_of(sizes);
  explain(sizes.back());
  const Plot plot = plot_of(sizes);
  write_file("--svg", svg_file, svg(plot));
  std::cout << in_characters(plot) << "\nThe same as a picture: " << svg_file.string() << "\n";
}

}  // namespace flashbook::tour
