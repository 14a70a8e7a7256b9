#pragma once

#include "sim/io/algorithms.hpp"

namespace flashbook::io {

/// The report of a run without running it: the same integers from formulas (FlashAttention's IO
/// analysis carried to the whole contract), in microseconds a member whatever N. Throws InputError
/// as check_runs does.
Report closed_form(const Algorithm& algorithm, const AttentionProblem& problem,
                   const Schedule& schedule = {});

/// The formulas, one an algorithm (Algorithm::count). Blocks are ignored where there are none.
void count_standard_forward(const AttentionProblem& problem, const Schedule&, Report& report);
void count_standard_forward_lse(const AttentionProblem& problem, const Schedule&, Report& report);
void count_standard_backward(const AttentionProblem& problem, const Schedule&, Report& report);
void count_fa2_forward(const AttentionProblem& problem, const Schedule& schedule, Report& report);
void count_fa1_forward(const AttentionProblem& problem, const Schedule& schedule, Report& report);
void count_fa1_forward_lse(const AttentionProblem& problem, const Schedule& schedule,
                           Report& report);
void count_fa1_forward_shipped(const AttentionProblem& problem, const Schedule& schedule,
                               Report& report);
void count_split_kv_decode(const AttentionProblem& problem, const Schedule& schedule,
                           Report& report);
void count_fa1_backward(const AttentionProblem& problem, const Schedule& schedule, Report& report);
void count_fa1_backward_shipped(const AttentionProblem& problem, const Schedule& schedule,
                                Report& report);
void count_fa2_backward(const AttentionProblem& problem, const Schedule& schedule, Report& report);
void count_fused_backward(const AttentionProblem& problem, const Schedule& schedule,
                          Report& report);
void count_three_kernels(const AttentionProblem& problem, const Schedule& schedule, Report& report);

/// FLOPs as published tables count them: 4N_qN_kd a head forward and 2.5 times that backward (for
/// d = d_v), halved for causal; windows are not deducted.
Index nominal_flops(const Algorithm& algorithm, const AttentionProblem& problem);

/// The blocks that move the fewest bytes among those whose tiles fit `sram_bytes`.
/// Row blocks up to 1,024 are all tried, and the largest that fits, and of those between some.
/// Under a mask so are columns; without one the most that fit are best. `schedule` says the rest of
/// what counts depend on; its own blocks are ignored. Throws InputError naming the least SRAM that
/// works if none do, or if it takes no blocks.
Blocks best_blocks(const Algorithm& algorithm, const AttentionProblem& problem, Index sram_bytes,
                   Schedule schedule = {});

/// FlashAttention's own choice (arXiv 2205.14135, Algorithm 1, line 1): B_c = ⌈M / 4d⌉ and
/// B_r = min(B_c, d), M the SRAM in elements of the problem's type. They quarter the SRAM among
/// K, V, Q and O and leave nothing for S: with S they fit from M ≥ 8d² on.
/// Throws InputError for an SRAM smaller than one element.
Blocks paper_blocks(const AttentionProblem& problem, Index sram_bytes);

}  // namespace flashbook::io
