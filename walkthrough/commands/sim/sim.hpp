#pragma once

#include <CLI/App.hpp>

/// `flashbook sim …`, one file a question.
namespace flashbook {

void add_sim_traffic(CLI::App& sim);
void add_sim_sweep(CLI::App& sim);
void add_sim_bound(CLI::App& sim);
void add_sim_blocks(CLI::App& sim);
void add_sim_figure2(CLI::App& sim);
void add_sim_roofline(CLI::App& sim);
void add_sim_ragged(CLI::App& sim);
void add_sim_kv_cache(CLI::App& sim);
void add_sim_trace(CLI::App& sim);

}  // namespace flashbook
