# Mistakes in the blocked forward passes. A skipped load leaves NaN, and one load too few; a second
# load of the same tile changes nothing but the count.

foreach(algorithm fa1_forward_lse fa1_forward_shipped fa2_forward split_kv_decode)
  add_mutant(none.${algorithm} ${algorithm} none)
endforeach()

mutant(fa1.skips_O ALGORITHM fa1_forward_lse CAUGHT_BY both
  FILE sim/io/fa1_forward.cpp
  FIND "{sram.load(O_partial_, O_of(tile)), sram.load(m_"
  REPLACE "{sram.allocate(\"O\", tile.rows.size(), problem_->d_v), sram.load(m_")
mutant(fa1.loads_keys_twice ALGORITHM fa1_forward_lse CAUGHT_BY counts
  FILE sim/io/fa1_forward.cpp
  FIND "KeyValueTile keys = steps_.load_keys(sram, member, h, j)"
  REPLACE "steps_.load_keys(sram, member, h, j); KeyValueTile keys = steps_.load_keys(sram, member, h, j)")
mutant(fa1.forgets_l ALGORITHM fa1_forward_lse CAUGHT_BY values
  FILE sim/io/fa1_forward.cpp
  FIND "O.row(i) *= l(i)"
  REPLACE "O.row(i) *= 1")
mutant(fa1_shipped.loads_the_sink_on_every_visit ALGORITHM fa1_forward_shipped CAUGHT_BY counts
  FILE sim/io/fa1_forward.cpp
  FIND "    Tile Q = steps_.load_queries(sram, tile)"
  REPLACE "    steps_.load_first_state(sram, tile.head); Tile Q = steps_.load_queries(sram, tile)")

mutant(fa2.skips_V ALGORITHM fa2_forward CAUGHT_BY both
  FILE sim/io/forward_steps.cpp
  FIND "sram.load(hbm_.v, key_rows(member, kv_head, keys, problem_->d_v))"
  REPLACE "sram.allocate(\"V\", keys.size(), problem_->d_v, bytes_of(problem_.dtype()))")
mutant(fa2.loads_queries_twice ALGORITHM fa2_forward CAUGHT_BY counts
  FILE sim/io/fa2_forward.cpp
  FIND "RowTile row = {"
  REPLACE "steps_.load_queries(sram, tile); RowTile row = {")
mutant(fa2.forgets_alpha ALGORITHM fa2_forward CAUGHT_BY values
  FILE sim/io/forward_steps.cpp
  FIND "row.O.row(i) *= alpha(i)"
  REPLACE "row.O.row(i) *= 1")

mutant(split_kv.skips_LSE ALGORITHM split_kv_decode CAUGHT_BY both
  FILE sim/io/split_kv_decode.cpp
  FIND "sram.load(lse_partial_, partial(tile, s, 1))"
  REPLACE "sram.allocate(\"LSE\", rows.size(), 1)")
mutant(split_kv.loads_O_twice ALGORITHM split_kv_decode CAUGHT_BY counts
  FILE sim/io/split_kv_decode.cpp
  FIND "const Tile O_s ="
  REPLACE "sram.load(O_partial_, partial(tile, s, d_v_)); const Tile O_s =")
mutant(split_kv.adds_the_sink_to_every_run ALGORITHM split_kv_decode CAUGHT_BY both
  FILE sim/io/split_kv_decode.cpp
  FIND "steps_.start(sram, rows.size(), {})"
  REPLACE "steps_.start(sram, rows.size(), steps_.load_first_state(sram, h))")
