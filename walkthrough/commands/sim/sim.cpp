#include "walkthrough/commands/sim/sim.hpp"

#include <CLI/CLI.hpp>

#include "walkthrough/commands/commands.hpp"

namespace flashbook {

void add_sim(CLI::App& app) {
  CLI::App* sim = app.add_subcommand("sim", "attention on simulated memory, counted");
  sim->require_subcommand(1);
  add_sim_traffic(*sim);
  add_sim_sweep(*sim);
  add_sim_bound(*sim);
  add_sim_blocks(*sim);
  add_sim_figure2(*sim);
  add_sim_roofline(*sim);
  add_sim_ragged(*sim);
  add_sim_kv_cache(*sim);
  add_sim_trace(*sim);
}

}  // namespace flashbook
