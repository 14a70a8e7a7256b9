# Mistakes in the blocked backward passes.

foreach(algorithm three_kernel_backward fa1_backward fa1_backward_shipped fa2_backward fused_backward)
  add_mutant(none.${algorithm} ${algorithm} none)
endforeach()

mutant(fa1_backward.skips_dQ ALGORITHM fa1_backward CAUGHT_BY both
  FILE sim/io/fa1_backward.cpp
  FIND "Tile dQ = dq_.load(sram, rows)"
  REPLACE "Tile dQ = sram.allocate(\"dQ\", rows.rows.size(), problem_->d)")
mutant(fa1_backward.loads_queries_twice ALGORITHM fa1_backward CAUGHT_BY counts
  FILE sim/io/fa1_backward.cpp
  FIND "QuerySide queries = load_queries(sram, rows)"
  REPLACE "load_queries(sram, rows); QuerySide queries = load_queries(sram, rows)")

mutant(fused.adds_dQ_twice ALGORITHM fused_backward CAUGHT_BY both
  FILE sim/io/fused_backward.cpp
  FIND "sram.atomic_add(dQ, sum_, region(rows))"
  REPLACE "sram.atomic_add(dQ, sum_, region(rows)), sram.atomic_add(dQ, sum_, region(rows))")
mutant(fused.forgets_the_scale ALGORITHM fused_backward CAUGHT_BY values
  FILE sim/io/fused_backward.cpp
  FIND "dQ *= static_cast<float>(problem_->scale)"
  REPLACE "dQ *= 1")
mutant(fused.clears_nothing ALGORITHM fused_backward CAUGHT_BY counts
  FILE sim/io/fused_backward.cpp
  FIND "store_zeros(sram, sum_, region(tile))"
  REPLACE "static_cast<void>(sram), static_cast<void>(tile)")

mutant(backward.skips_dO ALGORITHM three_kernel_backward CAUGHT_BY both
  FILE sim/io/backward_pass.cpp
  FIND "sram.load(hbm_.grad_o, query_rows(member, head, rows, problem_->d_v)),"
  REPLACE "sram.allocate(\"dO\", rows.size(), problem_->d_v, bytes_of(problem_.dtype())),")
mutant(backward.forgets_D ALGORITHM fa2_backward CAUGHT_BY values
  FILE sim/io/backward_pass.cpp
  FIND "      ds = hidden.select(0.f, ds - queries.D(i))"
  REPLACE "      ds = hidden.select(0.f, ds - 0.99f * queries.D(i))")
