#pragma once

#include <CLI/App.hpp>
#include <cstdint>

/// The verbs of the command line, one file each. add_X puts its verb on the app; the verb reports
/// bad input as InputError (status 2) and a failed check as CLI::RuntimeError(1).
namespace flashbook {

/// The largest --seed, and count of problems: 10^18.
inline constexpr std::uint64_t largest_seed = 1'000'000'000'000'000'000;

void add_tour(CLI::App& app);
void add_softmax(CLI::App& app);
void add_read(CLI::App& app);
void add_check(CLI::App& app);
void add_list(CLI::App& app);
void add_step(CLI::App& app);
void add_attend(CLI::App& app);
void add_compare(CLI::App& app);
void add_sim(CLI::App& app);
void add_verify(CLI::App& app);
void add_fuzz(CLI::App& app);
void add_run(CLI::App& app);
void add_demo(CLI::App& app);
void add_draw(CLI::App& app);
void add_ladder(CLI::App& app);
void add_timing(CLI::App& app);
void add_timeline(CLI::App& app);
void add_bench(CLI::App& app);
void add_receipts(CLI::App& app);

}  // namespace flashbook
