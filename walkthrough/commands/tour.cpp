#include "walkthrough/tour/tour.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "walkthrough/commands/commands.hpp"
#include "walkthrough/output_file.hpp"
#include "walkthrough/places.hpp"

namespace flashbook {
namespace fs = std::filesystem;
namespace tour {

void print_heading(const std::string& text) {
  std::cout << "\n== " << text << " ==\n\n";
}

}  // namespace tour

namespace {

struct TourFlags {
  std::string svg = "flashbook-traffic.svg";
  std::string data;  ///< empty: the tensors that come with the program
};

void say_what_next() {
  tour::print_heading("What to run next");
  std::cout << R"(  ./book read              the book: why this works, step by step
  ./book step forward      the first part by key: on, back, jump; backward too
  ./book list              what each implementation takes
  ./book verify            all cases: every option, alone and in pairs
  ./book sim traffic --algorithm fa2_forward --n 4096 --d 64 --dtype fp16 \
      --sram 167936        the 4k row above, tensor by tensor
  ./book sim --help        sweeps, bounds, rooflines, the paper's Figure 2, traces
  ./book attend --help     attention on your own tensors
)";
}

void run(const TourFlags& flags) {
  check_writable("--svg", flags.svg);
  const std::vector<tour::RealLayer> layers =
      tour::load_layers(flags.data.empty() ? book_folder() / "data" : fs::path(flags.data));
  tour::step_example();
  tour::count_traffic(flags.svg);
  const bool passed = tour::verify_real_tensors(layers);
  say_what_next();
  if (!passed) throw CLI::RuntimeError(1);
}

}  // namespace

void add_tour(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("tour", "attention stepped, counted, bounded and verified");
  auto flags = std::make_shared<TourFlags>();
  verb->add_option("--svg", flags->svg, "where the traffic plot goes")->capture_default_str();
  verb->add_option("--data", flags->data, "folder of minilm_layer*_*.npy (default: our own)");
  verb->callback([flags] { run(*flags); });
}

}  // namespace flashbook
