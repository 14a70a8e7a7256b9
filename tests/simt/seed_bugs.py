"""Plants bugs in the kernels of this folder and in rungs of the ladders: seed_bugs.py FOLDER

Writes into FOLDER one variant of a kernel a bug, in a namespace of the bug's name, and bugs.cpp, the
table that simt_bugs_test runs. A bug is a change of text, the category that the emulator must report,
and the line, given by a part of it, that a report of this category must name. A line of what rungs
share in cuda/rules is given as "file.cuh: part". Two kinds have no report: `wrong` changes the result
only, `conflicts` costs shared memory more than the ideal at that line.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA = os.path.join(HERE, "..", "..", "cuda")

# kernel: (its folder, its namespace, how it is run). Of a rung only what is above its launcher is
# taken, so that one instance is compiled and not all.
LAUNCHER = "inline LaunchStatus launch_"
KERNELS = {
    "mma_forward": (HERE, "mma_forward", "run_mma_forward({}::forward<half>, options, 100, 150)"),
    "fma_forward": (HERE, "fma_forward", "run_fma_forward({}::forward, options, 100, 42)"),
    "block_sum": (HERE, "block_sum", "run_block_sum({}::add_up, options)"),
    "pipeline": (HERE, "pipeline", "run_pipeline({}::reverse, options)"),
    "cluster_ring": (HERE, "cluster_ring",
                     "run_cluster_ring({0}::start_add_rows, {0}::add_rows, options)"),
    "hopper_forward": (HERE, "hopper_forward",
                       "run_hopper_forward<half, 64>({0}::launch_forward<half, 64>, "
                       "{0}::forward<half, 64>, options, 100, 300)"),
    "tensor_core": (os.path.join(CUDA, "forward"), "tensor_core",
                    "run_forward<half>({}::launch_all<half, 64>, options, 100, 150)"),
    **{rung: (os.path.join(CUDA, "forward"), rung, "run_causal({}::launch_all<half, 64>, options)")
       for rung in ("unmasked_tiles", "double_buffering", "swizzle", "q_in_registers", "tile_shapes",
                    "ping_pong")},
    **{rung: (os.path.join(CUDA, "forward"), rung,
              "run_judged({}::launch_all<half, 64>, options, \"nq=70 nk=450 d=40 dtype=fp16\")")
       for rung in ("tma_wgmma", "warp_specialised", "warpgroup_ping_pong", "wgmma_q_in_registers")},
    "gemm_softmax_overlap": (os.path.join(CUDA, "forward"), "gemm_softmax_overlap",
                             "run_judged({}::launch_all<half, 64>, options, "
                             "\"nq=70 nk=450 d=40 dtype=fp16 data=logits-std-1e2\")"),
    "no_running_maximum": (os.path.join(CUDA, "forward"), "no_running_maximum",
                           "run_judged({}::launch_all<half, 64>, options, "
                           "\"nq=70 nk=450 d=40 dtype=fp16 data=huge-key\")"),
    "persistent_attention": (
        os.path.join(CUDA, "forward"), "persistent",
        "run_judged([](const auto& problem, const auto& tensors, void*, void* stream) {{ return "
        "{0}::launch_all<half, persistent::TileShape<64, 2>>(\"bug\", problem, tensors, stream); }}, options, "
        "\"hq=2 hkv=1 nq=300 nk=450 d=40 dtype=fp16 data=huge-key\")"),
    "fa3": (os.path.join(CUDA, "forward"), "fa3",
            "run_judged({}::launch_all<half, 64>, options, \"hq=2 nq=150 nk=750 d=40 "
            "dtype=fp16 cu_q=0,50,60,150 cu_k=0,390,530,750 data=huge-key plant=nan-v\")"),
    "fa2": (os.path.join(CUDA, "forward"), "fa2",
            "run_judged([](const auto& problem, const auto& tensors, void*, void* stream) {{ "
            "using namespace {0}; return Launch<half>(problem, tensors, stream)"
            ".template start<Shape<64>, Scores::products>(); }}, options, "
            "\"nq=70 nk=450 d=64 dtype=fp16 data=logits-1e10\")"),
    "exp2": (os.path.join(CUDA, "forward"), "exp2",
             "run_judged({}::launch_all<half, 64>, options, \"nq=20 nk=1 d=8 dtype=fp16 data=logits-1e10\")"),
    "lazy_rescale": (os.path.join(CUDA, "forward"), "lazy_rescale",
                     "run_judged({}::launch_all<half, 64>, options, "
                     "\"nq=40 nk=200 d=8 dtype=fp16 data=logits-std-1e2\")"),
    "standard": (os.path.join(CUDA, "backward"), "standard_gradients",
                 "run_backward(standard_backward, {}::launch_all<float>, options)"),
    "three_kernel": (os.path.join(CUDA, "backward"), "three_kernel",
                     "run_backward(three_kernel_backward, {}::launch_all<float, 64>, options)"),
}

K_READ = "ldmatrix_x4(b, smem.K"
V_READ = "ldmatrix_x4_trans(b, smem.V"
COPY = "cp_async_16(tile.at"
LOADED = "tile_io.cuh: tile(i, c) = from_float<U>(x);"
MMA_LOAD_LEFT = "mma.cuh: ldmatrix_x4(a, tile.at"
MMA_LOAD_K = "mma.cuh: ldmatrix_x4(b, K.at"
MMA_LOAD_V = "mma.cuh: ldmatrix_x4_trans(b, V.at"
TMA_LOAD = "tma_io.cuh: tma_load(tile.at(0, column)"
COPY_CHUNK = "async_tile_io.cuh: cp_async_16(tile.at"
SYNC_TOP = "sync_threads();  // K_j is everybody's"
SYNC_MID = "sync_threads();  // V_j is everybody's"
PREFETCH = "if (j + 1 < blocks) load_rows(smem.K, K, (j + 1) * B_c, p.N_k);"

# (name, kernel, category, part of the line, old text, new text, ...)
BUGS = [
    # A wait is missing.
    ("no_wait_for_first_copies", "mma_forward", "unfinished_copy", "ldmatrix_x4(Q_rmem",
     "  cp_async_commit();\n  cp_async_wait<0>();\n", "  cp_async_commit();\n"),
    ("no_wait_for_K", "mma_forward", "unfinished_copy", K_READ, "if (j > 0) cp_async_wait<0>();", ""),
    ("no_wait_for_V", "mma_forward", "unfinished_copy", V_READ, "    cp_async_wait<0>();\n    sync_t", "    sync_t"),
    ("wait_for_all_but_one", "mma_forward", "unfinished_copy", V_READ,
     "    cp_async_wait<0>();\n    sync_t", "    cp_async_wait<1>();\n    sync_t"),
    ("copy_never_waited_for", "mma_forward", "unfinished_copy", COPY, PREFETCH, PREFETCH[20:]),
    ("no_commit", "mma_forward", "unfinished_copy", V_READ,
     "p.N_k);\n    cp_async_commit();\n\n    // S", "p.N_k);\n\n    // S"),
    # A barrier is missing, in the wrong place, or one too many.
    ("no_barrier_before_K", "mma_forward", "race", K_READ, SYNC_TOP, "if (j == 0) sync_threads();  //"),
    ("no_barrier_before_V", "mma_forward", "race", V_READ, SYNC_MID, "//"),
    ("prefetch_before_barrier", "mma_forward", "race", COPY,
     SYNC_MID + ", and nobody reads K_j any more\n    " + PREFETCH, PREFETCH + "\n    sync_threads();"),
    ("warp_skips_barrier", "mma_forward", "divergence", SYNC_MID, SYNC_MID, "if (warp < 3) " + SYNC_MID),
    ("warp_has_extra_barrier", "mma_forward", "divergence", "if (warp == 0) sync_threads()",
     "// O += P V", "if (warp == 0) sync_threads();"),
    ("no_barrier_after_load", "fma_forward", "race", "s += Q[c] * smem.K",
     "sync_threads();  // K and V are everybody's", ""),
    ("no_barrier_before_overwriting", "fma_forward", "race", "smem.K(i / d, i % d) =",
     "sync_threads();  // nobody reads them any more", ""),
    ("barrier_by_some", "fma_forward", "divergence", "sync_threads();  // K and V",
     "sync_threads();  // K and V", "if (row < p.N_q) sync_threads();  // K and V"),
    ("left_before_barrier_of_all", "fma_forward", "deadlock", "barrier_sync(1, B_r);",
     "  float Q[d]", "  if (row >= p.N_q) return;\n  float Q[d]",
     "sync_threads();  // K and V are everybody's", "barrier_sync(1, B_r);"),
    ("no_barrier_for_warps", "block_sum", "race", "of_block += smem.of_warps", "  sync_threads();", "  //"),
    # Numbered barriers.
    ("barrier_of_too_few", "mma_forward", "race", V_READ, SYNC_MID, "barrier_sync(1, 96);  //"),
    ("barrier_of_too_many", "mma_forward", "invalid", "barrier_sync(1, 160);", SYNC_MID, "barrier_sync(1, 160);  //"),
    ("barrier_of_part_of_a_warp", "mma_forward", "invalid", "barrier_sync(1, 100);", SYNC_MID,
     "barrier_sync(1, 100);  //"),
    ("buffer_never_freed", "pipeline", "deadlock", "barrier_sync(empty(stage), threads)",
     "if (j + stages < p.n) barrier_arrive(empty(stage), threads);", ""),
    ("buffer_freed_before_read", "pipeline", "race", "smem.buffer(stage, lane) =",
     "      if (j + stages < p.n) barrier_arrive(empty(stage), threads);\n", "",
     "      p.y(j * 32", "      if (j + stages < p.n) barrier_arrive(empty(stage), threads);\n      p.y(j * 32"),
    ("consumer_does_not_wait", "pipeline", "race", "smem.buffer(stage, 31 - lane)",
     "barrier_sync(full(stage), threads);", "barrier_arrive(full(stage), threads);"),
    ("barrier_opens_too_soon", "pipeline", "deadlock", "barrier_sync(empty(stage), threads)",
     "barrier_arrive(full(stage), threads)", "barrier_arrive(full(stage), 32)"),
    ("barriers_disagree_on_count", "mma_forward", "invalid", "barrier_sync(1, warp == 0 ? 64 : 128);",
     SYNC_MID, "barrier_sync(1, warp == 0 ? 64 : 128);  //"),
    # Warps.
    ("half_a_warp_shuffles", "mma_forward", "divergence", "x = fmaxf(x, shuffle_xor(x, 1));",
     "m_new = quad_max(m_new);", "if (lane < 16) m_new = quad_max(m_new);"),
    ("lanes_left_before_collective", "mma_forward", "divergence", "ldmatrix_x4(Q_rmem",
     "  load_rows(smem.Q,", "  if (row >= p.N_q) return;\n  load_rows(smem.Q,"),
    ("no_syncwarp", "block_sum", "race", "of_warp += smem.of_lanes", "  sync_warp();", "  //"),
    ("shuffle_is_no_syncwarp", "block_sum", "race", "of_warp += smem.of_lanes", "  sync_warp();",
     "  sum = shuffle(sum, lane);"),
    # Out of bounds.
    ("tail_not_zero_filled", "mma_forward", "out_of_bounds", COPY, "valid = first + row < n", "valid = first + row < 2 * n"),
    ("tail_one_too_long", "mma_forward", "out_of_bounds", COPY, "first + row < n;", "first + row <= n;"),
    ("tail_stored", "mma_forward", "out_of_bounds", "store_vector(O_row", "    if (i >= p.N_q) continue;\n", ""),
    ("row_not_guarded", "fma_forward", "out_of_bounds", "Q[c] = ", "row < p.N_q ? float(p.Q(row * d + c)) : 0.f",
     "p.Q(row * d + c)"),
    ("column_past_tile", "fma_forward", "out_of_bounds", "s += Q[c] * smem.K", "smem.K(j, c)", "smem.K(j, c + 1)"),
    # Misaligned, uninitialised.
    ("source_misaligned", "mma_forward", "misaligned", COPY, "(first + row) * d + column : 0", "(first + row) * d + column - 4 : 0",
     "const bool valid = ", "const bool valid = column > 0 && "),
    ("store_misaligned", "mma_forward", "misaligned", "store_vector(O_row", "lane % 4 * 2,", "lane % 4 * 2 + (n < 7),"),
    ("tail_left_alone", "mma_forward", "uninitialised", "ldmatrix_x4(Q_rmem", "    cp_async_16(", "    if (valid) cp_async_16("),
    ("keys_past_the_end", "fma_forward", "uninitialised", "s += Q[c] * smem.K", "first < p.N_k; first", "first < 1; first",
     "j < keys;", "j < B_c;", "keys = p.N_k - first", "keys = 10 < B_c ? 10 : p.N_k - first"),
    ("part_of_smem_unset", "block_sum", "uninitialised", "of_warp += smem.of_lanes", "  smem.of_lanes(warp, lane) = sum;",
     "  if (sum > -1e30f && lane < 31) smem.of_lanes(warp, lane) = sum;"),
    # Between blocks.
    ("blocks_store_the_same_rows", "mma_forward", "block_race", "store_vector(O_row",
     "const int i = row + h * 8;", "const int i = row - first_row + h * 8;"),
    ("sum_not_atomic", "block_sum", "block_race", "p.sum(0) += of_block", "atomic_add(p.sum, of_block)", "p.sum(0) += of_block"),
    ("sum_read_back", "block_sum", "block_race", "if (p.sum(0) > 1e30f)", "  atomic_add(p.sum, of_block)",
     "  if (p.sum(0) > 1e30f) return;\n  atomic_add(p.sum, of_block)"),
    # Rings of mbarriers, in a cluster.
    ("wrong_parity_of_full", "cluster_ring", "unfinished_copy", "sum += smem.tile",
     "mbarrier_wait(smem.full[stage], phase)", "mbarrier_wait(smem.full[stage], phase ^ 1)"),
    ("wrong_parity_of_empty", "cluster_ring", "deadlock", "mbarrier_wait(smem.empty[stage], phase);",
     "mbarrier_wait(smem.empty[stage], phase ^ 1);", "mbarrier_wait(smem.empty[stage], phase);"),
    ("no_wait_for_full", "cluster_ring", "unfinished_copy", "sum += smem.tile",
     "    mbarrier_wait(smem.full[stage], phase);", "static_cast<void>(phase);"),
    ("no_wait_for_empty", "cluster_ring", "invalid", "mbarrier_arrive_expect_tx(",
     "    mbarrier_wait(smem.empty[stage], phase ^ 1);", "static_cast<void>(phase);"),
    ("stage_released_early", "cluster_ring", "race", "tma_load_multicast(",
     "    sync_warp();  // all lanes have read the stage\n"
     "    mbarrier_arrive_at_if(smem.empty[stage], lane % blocks, lane < blocks);\n", "",
     "    float sum = 0;\n",
     "    float sum = 0;\n    mbarrier_arrive_at_if(smem.empty[stage], lane % blocks, lane < blocks);\n"),
    ("release_without_syncwarp", "cluster_ring", "race", "tma_load_multicast(",
     "    sync_warp();  // all lanes", "//"),
    ("stage_released_to_own_block", "cluster_ring", "deadlock", "mbarrier_wait(smem.empty[stage], phase ^ 1);",
     "mbarrier_arrive_at_if(smem.empty[stage], lane % blocks, lane < blocks)",
     "mbarrier_arrive_if(smem.empty[stage], lane == 0)"),
    ("one_arrival_too_few", "cluster_ring", "race", "tma_load_multicast(", "2 * blocks);", "2 * blocks - 1);"),
    ("one_arrival_too_many", "cluster_ring", "deadlock", "mbarrier_wait(smem.empty[stage], phase ^ 1);",
     "2 * blocks);", "2 * blocks + 1);"),
    ("no_expect_tx", "cluster_ring", "unfinished_copy", "sum += smem.tile",
     "mbarrier_arrive_expect_tx(smem.full[stage], sizeof smem.tile[stage])", "mbarrier_arrive(smem.full[stage])"),
    ("expect_tx_of_half", "cluster_ring", "deadlock", "mbarrier_wait(smem.empty[stage], phase ^ 1);",
     "sizeof smem.tile[stage])", "sizeof smem.tile[stage] / 4)"),
    ("no_fence_of_init", "cluster_ring", "race", "tma_load_multicast(", "    fence_mbarrier_init();\n", ""),
    ("cluster_left_early", "cluster_ring", "departed", "mbarrier_arrive_at_if(",
     "  cluster_sync();  // nobody arrives", "  //"),
    ("init_without_cluster_barrier", "cluster_ring", "invalid", "tma_load_multicast(",
     "cluster_sync();  // both", "sync_threads();  // both"),
    ("half_box_to_wrong_rows", "cluster_ring", "misaligned", "tma_load_multicast(", ".at(mine, 0), p.x",
     ".at(mine / 2, 0), p.x"),
    # wgmma.
    ("K_released_early", "hopper_forward", "race", "tma_load(tile.at(row, column)",
     "    wgmma_wait<0>(S);\n    mbarrier_arrive_if(smem.empty_K[s], releases);",
     "    mbarrier_arrive_if(smem.empty_K[s], releases);\n    wgmma_wait<0>(S);"),
    ("V_released_early", "hopper_forward", "race", "tma_load(tile.at(row, column)",
     "    wgmma_wait<0>(x.O);\n    mbarrier_arrive_if(smem.empty_V[s], releases);",
     "    mbarrier_arrive_if(smem.empty_V[s], releases);\n    wgmma_wait<0>(x.O);"),
    ("no_wait_for_S", "hopper_forward", "wrong", None, "wgmma_wait<0>(S);", "wgmma_wait<1>(S);"),
    ("no_wait_for_O", "hopper_forward", "unfinished_copy", "wgmma_trans<T>(O, P", "wgmma_wait<0>(x.O);", ""),
    ("no_wait_for_full_V", "hopper_forward", "unfinished_copy", "wgmma_trans<T>(O, P",
     "    mbarrier_wait(smem.full_V[s], phase);\n", ""),
    ("no_fence_before_S", "hopper_forward", "race", "    wgmma<T>(S,",
     "    wgmma_fence();\n    start_S", "    start_S"),
    ("no_proxy_fence_before_store", "hopper_forward", "race", "tma_store(p.O",
     "  fence_proxy_async();\n", ""),
    ("no_barrier_before_store", "hopper_forward", "race", "tma_store(p.O",
     "  barrier_sync(stored + c, 128);", "//"),
    ("store_not_waited_for", "hopper_forward", "unfinished_copy", "tma_store(p.O",
     "  bulk_wait_read<0>();\n", ""),
    ("registers_not_given_back", "hopper_forward", "deadlock", "mbarrier_wait(smem.empty_K[s]",
     "    decrease_registers<24>();\n", ""),
    ("turn_never_passed", "hopper_forward", "deadlock", "mbarrier_wait(smem.empty_K[s]",
     "    if (c == 0 || j + 1 < blocks) barrier_arrive", "    if (c == 0) barrier_arrive"),
    ("P_fragments_swapped", "hopper_forward", "wrong", None, "pack<T>(S[2 * i], S[2 * i + 1])",
     "pack<T>(S[2 * i + 1], S[2 * i])"),
    ("keys_past_the_end_seen", "hopper_forward", "wrong", None, "i % 2 >= p.N_k)", "i % 2 > p.N_k)"),
    # Launches.
    ("shared_memory_too_small", "pipeline", "invalid", "shared_memory<Smem>()", "Tile<float, stages, 32> buffer;",
     "Tile<float, stages, 64> buffer;"),
    # The same kinds in rungs of the ladders.
    ("rung_without_barrier_after_loads", "tensor_core", "race", MMA_LOAD_K,
     "sync_threads();  // Q, K and V", "//"),
    ("rung_without_barrier_before_loads", "tensor_core", "race", MMA_LOAD_V,
     "sync_threads();  // nobody reads", "//"),
    ("rung_stores_past_the_last_row", "tensor_core", "out_of_bounds", "mma.cuh: if (column < to.columns) store_vector(O_row + column",
     "if (i >= visible.n_q) continue;", ""),
    ("rung_without_last_tile", "tensor_core", "wrong", None, "j < keys.end;", "j + B_c <= keys.end;"),
    ("rung_products_swapped", "tensor_core", "wrong", None, "mma::add_QK<T, D>(S, smem.Q, smem.K)",
     "mma::add_QK<T, D>(S, smem.K, smem.Q)"),
    ("rung_keys_of_other_lane", "tensor_core", "wrong", None, "first_key + i / 2 * 8 + lane() % 4 * 2",
     "first_key + i / 2 * 8 + lane() / 8 * 2"),
    ("rung_without_padding", "tensor_core", "conflicts", MMA_LOAD_K, "Tile<T, 64, D + 8>",
     "Tile<T, 64, D>"),
    # What each rung behind it can get wrong.
    ("base_of_any_size", "exp2", "wrong", None, "= all(takes);", "= true;"),
    ("diagonal_not_masked", "unmasked_tiles", "wrong", None, "j + B_c > full_end; j", "j > full_end; j"),
    ("no_wait_for_the_next_K", "double_buffering", "unfinished_copy", MMA_LOAD_LEFT,
     "    cp_async_wait<0>();\n    sync_threads();  // Q and K", "    sync_threads();  // Q and K"),
    ("no_wait_for_this_V", "double_buffering", "unfinished_copy", MMA_LOAD_V,
     "    cp_async_wait<0>();\n    sync_threads();  // V is", "    sync_threads();  // V is"),
    ("next_K_copied_before_barrier", "double_buffering", "race", COPY_CHUNK,
     "    sync_threads();  // V is everybody's, nobody reads K any more\n"
     "    if (j > 0) load_async<threads, D>(smem.K, K, j - B_c, keys);\n",
     "    if (j > 0) load_async<threads, D>(smem.K, K, j - B_c, keys);\n    sync_threads();\n"),
    ("V_copied_before_barrier", "double_buffering", "race", COPY_CHUNK,
     "    sync_threads();  // Q and K are everybody's, nobody reads V any more\n"
     "    load_async<threads, D>(smem.V, V, j, keys);\n",
     "    load_async<threads, D>(smem.V, V, j, keys);\n    sync_threads();\n"),
    ("rung_without_swizzle", "swizzle", "conflicts", MMA_LOAD_K, "Tile<T, 64, D, XorSwizzle>", "Tile<T, 64, D>"),
    ("swizzled_by_readers_only", "swizzle", "wrong", None, "load_async<threads, D>(smem.K, K, j - B_c, keys)",
     "load_async<threads, D>(reinterpret_cast<Tile<T, 64, D>&>(smem.K), K, j - B_c, keys)"),
    ("Q_read_before_it_is_there", "q_in_registers", "unfinished_copy", MMA_LOAD_LEFT,
     "  cp_async_wait<0>();\n  sync_threads();  // Q is", "  sync_threads();  // Q is"),
    ("second_block_masked_as_the_first", "tile_shapes", "wrong", None,
     "mask(S[r], e, visible, row + 16 * r, j)", "mask(S[r], e, visible, row, j)"),
    ("longest_first_for_some", "tile_shapes", "block_race", "mma.cuh: if (column < to.columns) store_vector(O_row",
     "const int first = tile.first,", "const int first = tile.first / 256 * 256,"),
    ("maximum_never_followed", "lazy_rescale", "wrong", None, "slack / e.c", "1e6f"),
    ("lanes_follow_alone", "lazy_rescale", "divergence", "row_blocks.cuh: by_product = all(takes);",
     "if (rows.any_above(m_tile, slack / e.c))", "if (m_tile[0][0] > rows.row[0][0].m)"),
    ("copies_not_waited_for", "ping_pong", "unfinished_copy", MMA_LOAD_K,
     "    cp_async_wait<0>();\n    barrier_arrive", "    barrier_arrive"),
    ("turn_ended_before_reading", "ping_pong", "race", COPY_CHUNK,
     "    barrier_arrive(turn_of_group_1 - group, threads);\n", "",
     "    barrier_sync(turn_of_group_0 + group, threads);  // this group's turn\n",
     "    barrier_sync(turn_of_group_0 + group, threads);\n"
     "    barrier_arrive(turn_of_group_1 - group, threads);\n"),
    ("stage_too_few", "ping_pong", "unfinished_copy", MMA_LOAD_K, "stages = 3;", "stages = 2;"),
    ("turn_not_handed_over", "ping_pong", "deadlock",
     "barrier_sync(turn_of_group_0 + group, threads);  // the last turn",
     "  if (group == 0) barrier_arrive(turn_of_group_1, threads);\n", ""),
    ("V_of_no_tile", "ping_pong", "uninitialised", MMA_LOAD_V, "if (!masked || j + B_c < seen_end)\n", ""),
    ("K_loaded_while_read", "tma_wgmma", "race", TMA_LOAD, "    wgmma_wait<0>(accumulators(S));", "    //",
     "    // P = 2^(c (S - m))\n", "    wgmma_wait<0>(accumulators(S));\n"),
    ("V_loaded_while_read", "tma_wgmma", "race", TMA_LOAD, "    wgmma_wait<0>(accumulators(O));", "    //",
     "    if (t == 0) mbarrier_wait(smem.full_Q, 0);\n",
     "    wgmma_wait<0>(accumulators(O));\n    if (t == 0) mbarrier_wait(smem.full_Q, 0);\n",
     "  mma::store_rows(", "  wgmma_wait<0>(accumulators(O));\n  mma::store_rows("),
    ("ends_not_masked", "tma_wgmma", "wrong", None, "    here.mask(S, j);\n", ""),
    ("K_given_back_while_read", "warp_specialised", "race", TMA_LOAD,
     "    wgmma_wait<0>(accumulators(S));\n    smem.K.release(t);",
     "    smem.K.release(t);\n    wgmma_wait<0>(accumulators(S));"),
    ("V_never_given_back", "warp_specialised", "deadlock", "ring.cuh: mbarrier_wait(empty[t % stages]",
     "    smem.V.release(t);\n", ""),
    ("V_multiplied_before_it_is_there", "warp_specialised", "unfinished_copy",
     "wgmma.cuh: wgmma_trans<T>(accumulators(O)", "    smem.V.wait(t);\n", ""),
    ("O_rescaled_while_added_to", "gemm_softmax_overlap", "wrong", None,
     "      if (follows) rows.rescale(O, factor);\n", "",
     "      wgmma_wait<0>(accumulators(O));\n      smem.V",
     "      if (follows) rows.rescale(O, factor);\n      wgmma_wait<0>(accumulators(O));\n      smem.V"),
    ("V_of_the_tile_before_given_back_early", "gemm_softmax_overlap", "race", TMA_LOAD,
     "      wgmma_wait<0>(accumulators(O));\n      smem.V.release(t - 1);",
     "      smem.V.release(t - 1);\n      wgmma_wait<0>(accumulators(O));"),
    ("nobody_has_the_first_turn", "warpgroup_ping_pong", "deadlock",
     "ring.cuh: mbarrier_wait(empty[t % stages]", "    turns.open();\n", ""),
    ("Q_of_one_consumer_for_both", "wgmma_q_in_registers", "wrong", None,
     "load_Q(Q, smem.Q, here.in_tile)", "load_Q(Q, smem.Q, 64)"),
    ("overflow_ignored", "no_running_maximum", "wrong", None,
     "% 8) != 0);", "% 8) > 1);"),
    ("repeated_without_maxima", "no_running_maximum", "wrong", None, "tile.key_tiles(), true);",
     "tile.key_tiles(), false);"),
    ("verdict_read_before_it_is_there", "no_running_maximum", "race", "return any(smem.overflowed(0,",
     "  mbarrier_wait(smem.judged, 0);\n", ""),
    ("Q_given_back_while_read", "persistent_attention", "race", TMA_LOAD,
     "    if constexpr (!Shape::keeps_Q) give_Q();\n", "",
     "    start_S(keys);\n", "    start_S(keys);\n    give_Q();\n"),
    ("V_of_the_last_tile_never_given_back", "persistent_attention", "divergence",
     "persistent.cuh: sync_warp();", "    smem.V.release(keys++, again);\n", "    ++keys;\n"),
    ("overflow_not_noted", "persistent_attention", "wrong", None,
     "if (again || !overflowed ||", "if (again || overflowed ||"),
    ("repeated_without_maxima_again", "persistent_attention", "wrong", None,
     "    if (again) return task.tile.key_tiles();\n", ""),
    ("K_given_back_to_the_own_block_alone", "persistent_attention", "unfinished_copy",
     "tma_io.cuh: tma_load_multicast(tile.at(row, column)", "    wgmma_wait<0>(accumulators(S));\n    smem.K.release(keys, again);",
     "    wgmma_wait<0>(accumulators(S));\n    smem.K.release(keys, true);"),
    ("equal_large_keys_weighed_by_product", "fa2", "wrong", None, "if (rows.by_product) {",
     "if (rows.row[0][0].m > -INFINITY) {"),
    ("V_of_another_member_multiplied", "fa3", "wrong", None, "of.hidden > 0 && token", "of.hidden > 200 && token"),
    ("first_overflow_ignored", "fa3", "wrong", None, "!again && (!fits || any(!is_finite()))", "false"),
    ("warps_of_a_group_part", "fa3", "divergence", "wgmma_wait<1>(accumulators(S_rmem));  // not",
     "t < unmasked.end ? unmasked.begin : count", "t < unmasked.end && row() % 32 < 16 ? unmasked.begin : count"),
    ("repeated_relative_to_the_same_maxima", "fa3", "wrong", None, "if (again || !p.e.folded())",
     "if (!p.e.folded())"),
    ("overflows_read_before_all_are_noted", "fa3", "race", "persistent.cuh: bits |= overflowed(i / (most_rounds",
     "meet(smem, is_consumer);", "static_cast<void>(is_consumer);"),
    ("task_written_over_while_read", "fa3", "race", "task(slot, i) = words_of.word[i];", "task_slots = 8;",
     "task_slots = 2;"),
    ("no_barrier_between_query_tiles", "three_kernel", "race", LOADED,
     "sync_threads();  // nobody reads Q, dO, LSE and D of the tile before", ""),
    ("no_barrier_between_key_tiles", "three_kernel", "race", LOADED,
     "sync_threads();  // nobody reads K and V of the tile before", ""),
    ("no_barrier_after_loading_queries", "three_kernel", "race", "const float lse = smem.lse(0, i), D = smem.D(0, i);  // keys",
     "const int i = fma::key(c);\n    const float lse = smem.lse(0, i), D = smem.D(0, i);",
     "const int i = fma::key(c);\n    const float lse = smem.lse(0, i), D = smem.D(0, i);  // keys",
     "sync_threads();  // K, V and this", "//"),
    ("no_syncwarp_for_P_and_dS", "three_kernel", "race", "fma.cuh: a[r] = load_vector<float4>(A.at(row(r), k));",
     "sync_warp();  // rows of P and dS", "//"),
    ("no_syncwarp_for_dS", "three_kernel", "race", "fma.cuh: a[r] = load_vector<float4>(A.at(row(r), k));",
     "sync_warp();  // rows of dS", "//"),
    ("barrier_by_those_who_load_D", "three_kernel", "divergence", "sync_threads();  // K, V and this",
     "sync_threads();  // K, V and this", "if (threadIdx.x < step<width>) sync_threads();  // K, V and this"),
    ("D_of_a_row_too_many", "three_kernel", "out_of_bounds", "if (lane == 0) D_gmem(row + i) =",
     "i < first + B && i < p.sizes.n_q();", "i < first + B && i <= p.sizes.n_q();"),
    ("no_barrier_between_channels", "standard", "race", LOADED,
     "sync_threads();  // nobody reads the channels before", ""),
    ("pairs_of_a_row_too_many", "standard", "out_of_bounds", "to.row(i + fma::row(r))(j + fma::key(c)) =",
     "i + fma::row(r) < n_q &&", "i + fma::row(r) <= n_q &&"),
    ("blocks_compute_the_same_pairs", "standard", "block_race", "to.row(i + fma::row(r))(j + fma::key(c)) =",
     "const int j = static_cast<int>(blockIdx.x % key_tiles) * step,", "const int j = 0,"),
    # No report: a wrong result, or a slow kernel.
    ("group_forgotten", "three_kernel", "wrong", None, "g < sizes.group();", "g < 1;"),
    ("scale_forgotten", "three_kernel", "wrong", None, "sizes.n_k(), dK, sizes.scale)", "sizes.n_k(), dK, 1)"),
    ("dlse_forgotten", "three_kernel", "wrong", None, "p.has_dlse ? dot - p.dlse(row + i) : dot", "dot"),
    ("operands_swapped", "three_kernel", "wrong", None, "fma::add_product(dV, smem.P, smem.dO)",
     "fma::add_product(dV, smem.dS, smem.dO)"),
    ("D_added", "three_kernel", "wrong", None, "S * (dP - D)", "S * (dP + D)"),
    ("D_off_by_a_hundredth", "three_kernel", "wrong", None, "S * (dP - D)", "S * (dP - 0.99f * D)"),
    ("hidden_pair_multiplied", "three_kernel", "wrong", None, "adds_nothing(s, lse) ? 0 : S * (dP - D)", "S * (dP - D)"),
    ("empty_rows_read", "three_kernel", "wrong", None, "fma::load(smem.dO, p.dO.of(batch, head), i, seen)",
     "fma::load(smem.dO, p.dO.of(batch, head), i, Range{0, sizes.n_q()})"),
    ("unseen_keys_read", "three_kernel", "wrong", None, "fma::load(smem.K, p.K.of(batch, kv_head), j, keys)",
     "fma::load(smem.K, p.K.of(batch, kv_head), j, Range{0, sizes.n_k()})"),
    ("last_tile_of_keys_skipped", "three_kernel", "wrong", None, "j < keys.end; j += step", "j + step<width> < keys.end; j += step"),
    ("first_tile_misaligned", "three_kernel", "wrong", None, "rows.begin / step<width> * step<width>",
     "(rows.begin + step<width> - 1) / step<width> * step<width>"),
    ("values_scaled", "standard", "wrong", None, "P, p.dO, p.dV, 1}", "P, p.dO, p.dV, s.scale}"),
    ("group_reads_one_head", "standard", "wrong", None, "load_transposed(smem.W, p.W.of(batch, head)",
     "load_transposed(smem.W, p.W.of(batch, kv_head)"),
    ("D_per_lane", "standard", "wrong", None, "D = lanes_sum<32>(D) -", "D = D -"),
    ("partial_tiles_skipped", "standard", "wrong", None, "== TileClass::skip) return;", "!= TileClass::full) return;"),
    ("hidden_dP_kept", "standard", "wrong", None, "if (adds_nothing(stored, lse)) dP = 0;",
     "if (adds_nothing(stored, lse)) dP += 0;"),
    ("fragments_swapped", "mma_forward", "wrong", None, "mma_m16n8k16<T>(S[n + 1], Q_rmem[k], b[2], b[3])",
     "mma_m16n8k16<T>(S[n + 1], Q_rmem[k], b[3], b[2])"),
    ("V_not_transposed", "mma_forward", "wrong", None, "ldmatrix_x4_trans(", "ldmatrix_x4("),
    ("mask_off_by_one", "mma_forward", "wrong", None, ">= p.N_k) S[n]", "> p.N_k) S[n]"),
    ("swizzle_of_writer_only", "mma_forward", "wrong", None, "smem.K.at(n * 8 + lane % 8 + lane / 16 * 8,",
     "smem.K.at(n * 8 + (lane % 8 ^ 1) + lane / 16 * 8,"),
    ("no_swizzle", "mma_forward", "conflicts", K_READ, "Tile<T, B_c, d, XorSwizzle>", "Tile<T, B_c, d>"),
]


def place_of(name, text, part):
    """file:line of the line that holds the part."""
    shared = re.match(r"(\w+\.cuh): (.*)", part)
    if shared is None:
        return f"{name}.cuh:{line_of(text, part)}"
    with open(os.path.join(CUDA, "rules", shared.group(1)), encoding="utf-8") as file:
        return f"{shared.group(1)}:{line_of(file.read(), shared.group(2))}"


def line_of(text, part):
    lines = [i for i, line in enumerate(text.split("\n"), 1) if part in line]
    if len(lines) != 1:
        sys.exit(f"'{part}' is in {len(lines)} lines")
    return lines[0]


def with_part(include):
    """The text of a part that a kernel has in a file of its own."""
    with open(os.path.join(CUDA, "..", include.group(1)), encoding="utf-8") as file:
        return file.read().replace("#pragma once", "")


def plant(name, kernel, changes):
    folder, namespace, _ = KERNELS[kernel]
    with open(os.path.join(folder, kernel + ".cuh"), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(rf'#include "(cuda/forward/{kernel}_.*)"', with_part, text)
    if LAUNCHER in text:
        text = text[:text.index(LAUNCHER)] + "}\n"
    for old, new in zip(changes[::2], changes[1::2]):
        if text.count(old) != 1:
            sys.exit(f"{name}: '{old}' is {text.count(old)} times in {kernel}.cuh")
        text = text.replace(old, new)
    return re.sub(rf"FLASHBOOK_MACHINE::{namespace}\b", f"FLASHBOOK_MACHINE::{name}", text)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    includes, rows = "", ""
    for name, kernel, category, part, *changes in BUGS:
        text = plant(name, kernel, changes)
        with open(os.path.join(folder, name + ".cuh"), "w", encoding="utf-8") as file:
            file.write(text)
        place = place_of(name, text, part) if part else ""
        call = KERNELS[kernel][2].format(name)
        includes += f'#include "{name}.cuh"\n'
        rows += (f'    {{"{name}", "{category}", "{place}",\n'
                 f"     [](simt::Options options) {{ return {call}; }}}},\n")
    with open(os.path.join(folder, "bugs.cpp"), "w", encoding="utf-8") as file:
        file.write(f'{includes}#include "tests/simt/bugs.hpp"\n\nnamespace flashbook::emulated {{\n\n'
                   f"const std::vector<Bug>& bugs() {{\n  static const std::vector<Bug> all = {{\n{rows}"
                   f"  }};\n  return all;\n}}\n\n}}  // namespace flashbook::emulated\n")


if __name__ == "__main__":
    main()
