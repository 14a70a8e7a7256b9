// The simulated memory and the mask, each on its own.
#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <string>

#include "cpu_reference/error.hpp"
#include "sim/io/launch.hpp"
#include "sim/io/mask.hpp"
#include "sim/io/trace.hpp"

using namespace flashbook;
using namespace flashbook::io;

namespace {

struct Example {
  std::vector<float> values = std::vector<float>(24);
  Hbm hbm;
  Tensor input, output;

  Example() {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Layout layout = {Kind::matrix, DType::fp32, {1, 1, 6, 4}, {24, 24, 4, 1}};
    input = hbm.add_input("Q", layout, values.data());
    output = hbm.add_output("O", layout, values.data());
  }
};

}  // namespace

TEST_CASE("load and store move a region and count its elements") {
  Example e;
  Sram sram(e.hbm);
  {
    Tile tile = sram.load(e.input, {0, 0, 1, 2, 1, 3});
    CHECK(tile(0, 0) == 5);
    CHECK(tile(1, 2) == 11);
    CHECK(sram.resident_bytes() == 6 * 4);
    tile *= 2;
    sram.store(tile, e.output, {0, 0, 0, 2, 0, 3});
  }
  CHECK(e.values[0] == 10);
  CHECK(e.values[6] == 22);
  CHECK(sram.resident_bytes() == 0);
  CHECK(sram.tally().peak_bytes == 6 * 4);
  CHECK(sram.tally().tensors[0] == Counts{6, 0, 0});
  CHECK(sram.tally().tensors[1] == Counts{0, 6, 0});
}

TEST_CASE("a tensor may have any strides, 0 of what is only read") {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Layout every_other = {Kind::matrix, DType::fp32, {1, 1, 3, 4}, {24, 24, 8, 2}};
  const Layout repeated = {Kind::matrix, DType::fp32, {1, 1, 3, 4}, {24, 24, 8, 0}};
  Hbm hbm;
  const Tensor tensor = hbm.add_output("O", every_other, values.data());
  const Tensor same = hbm.add_input("K", repeated, values.data());
  CHECK(static_cast<bool>(tensor));
  CHECK_FALSE(static_cast<bool>(Tensor{}));
  const Region all = {0, 0, 0, 3, 0, 4};
  Sram sram(hbm);
  Tile tile = sram.load(tensor, all);
  CHECK(tile(2, 3) == 22);
  CHECK(sram.load(same, all)(2, 3) == 16);
  tile.setConstant(-1);
  sram.store(tile, tensor, all);
  sram.atomic_add(tile, tensor, all);
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == (i % 2 == 0 ? -2 : static_cast<float>(i)));
}

TEST_CASE("an input cannot be stored to") {
  Example e;
  Sram sram(e.hbm);
  const Tile tile = sram.load(e.input, {0, 0, 0, 1, 0, 1});
  CHECK_THROWS_AS(sram.store(tile, e.input, {0, 0, 0, 1, 0, 1}), std::logic_error);
}

TEST_CASE("a copy that leaves its tensor is an error, not traffic") {
  Example e;
  Sram sram(e.hbm);
  const Tensor sum = e.output;  // [1, 1, 6, 4]
  const Region outside[] = {{0, 0, 5, 2, 0, 4},  {0, 0, 0, 2, 1, 4}, {0, 0, -1, 2, 0, 4},
                            {0, 0, 0, 2, -1, 4}, {1, 0, 0, 2, 0, 4}, {0, -1, 0, 2, 0, 4}};
  for (const Region& region : outside) {
    CAPTURE(region.row);
    CAPTURE(region.column);
    CHECK_THROWS_AS(sram.load(e.input, region), std::logic_error);
    const Tile tile = sram.allocate("tile", region.rows, region.columns);
    CHECK_THROWS_WITH_AS(sram.store(tile, e.output, region), doctest::Contains("leaves tensor O"),
                         std::logic_error);
    CHECK_THROWS_AS(sram.atomic_add(tile, sum, region), std::logic_error);
  }
  CHECK_THROWS_AS(sram.load(e.input, {0, 0, 0, -1, 0, 4}), std::logic_error);
  CHECK_THROWS_AS(sram.load_element(e.input, 0, 0, 6), std::logic_error);
  CHECK_THROWS_AS(sram.store_element(1, e.output, 0, 1, 0), std::logic_error);
  CHECK_THROWS_AS(sram.store_element(1, e.input, 0, 0, 0), std::logic_error);
  CHECK(sram.tally().tensors[0] == Counts{});
  CHECK(sram.tally().tensors[1] == Counts{});
}

TEST_CASE("a tile goes to a region of its own shape only") {
  Example e;
  Sram sram(e.hbm);
  const Tile tile = sram.load(e.input, {0, 0, 0, 2, 0, 3});
  const Region others[] = {{0, 0, 0, 3, 0, 2}, {0, 0, 0, 2, 0, 2}, {0, 0, 0, 3, 0, 3}};
  for (const Region& region : others) {
    CHECK_THROWS_WITH_AS(sram.store(tile, e.output, region), doctest::Contains("a tile [2, 3]"),
                         std::logic_error);
    CHECK_THROWS_AS(sram.atomic_add(tile, e.output, region), std::logic_error);
  }
  CHECK(sram.tally().tensors[1] == Counts{});
  CHECK(e.values[0] == 0);
}

TEST_CASE("atomic updates add, and are counted apart") {
  Example e;
  const Tensor sum = e.hbm.add_workspace("sum", Kind::matrix, DType::fp32, {1, 1, 2, 2});
  Machine machine;
  machine.hbm = std::move(e.hbm);
  machine.launch(100, [&](Sram& sram, Index) {
    Tile one = sram.allocate("one", 2, 2);
    one.setOnes();
    sram.atomic_add(one, sum, {0, 0, 0, 2, 0, 2});
  });
  CHECK(machine.tally.tensors[2].atomic_updates == 400);
  Sram sram(machine.hbm);
  CHECK(sram.load(sum, {0, 0, 0, 2, 0, 2}).sum() == 400);
}

TEST_CASE("a tile that does not fit is refused, naming what is resident and what to do") {
  Example e;
  Sram sram(e.hbm, 100);
  sram.allocate("T", 2, 2);  // and freed at once
  const Tile Q = sram.load(e.input, {0, 0, 0, 4, 0, 3});
  std::string message;
  try {
    const Tile S = sram.allocate("S", 4, 6);
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.find("100 bytes") != std::string::npos);
  CHECK(message.find("tile S [4, 6] of 96 bytes") != std::string::npos);
  CHECK(message.find("Q [4, 3] of 48 bytes") != std::string::npos);
  CHECK(message.find("[2, 2]") == std::string::npos);
  CHECK(message.find("sram_bytes (--sram)") != std::string::npos);
  CHECK(sram.resident_bytes() == 48);
}

TEST_CASE("an error in a worker leaves the launch") {
  Machine machine;
  machine.sram_bytes = 8;
  const auto task = [](Sram& sram, Index) { sram.allocate("S", 2, 2); };
  CHECK_THROWS_AS(machine.launch(4, task), InputError);
}

TEST_CASE("a launch has the threads there are, up to its workers, and one where someone listens") {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  Machine machine;
  int threads = 0;
  const auto count = [&](Sram& sram, Index) {
    threads = omp_get_num_threads();
    sram.allocate("S", 2, 3);
  };
  machine.launch(1, count);
  CHECK(threads == 3);
  machine.max_workers = 2;
  machine.launch(1, count);
  CHECK(threads == 2);
  TraceRecorder recorder({1, 1, 1}, 100);
  machine.listener = &recorder;
  machine.launch(1, count);
  CHECK(threads == 1);
  omp_set_num_threads(before);
  REQUIRE(recorder.trace().tiles.size() == 1);
  CHECK(recorder.trace().tiles[0].rows == 2);
  CHECK(recorder.trace().tiles[0].columns == 3);
}

TEST_CASE("freed tiles and fresh tiles are NaN") {
  Example e;
  Sram sram(e.hbm);
  const Tile fresh = sram.allocate("S", 3, 3);
  for (int i = 0; i < 9; ++i) CHECK(std::isnan(fresh(i)));
  const float* freed = nullptr;
  {
    const Tile tile = sram.load(e.input, {0, 0, 0, 2, 0, 2});
    freed = tile.data();
    CHECK(freed[3] == 5);
  }
  for (int i = 0; i < 4; ++i) CHECK(std::isnan(freed[i]));
  const Tile reused = sram.allocate("S", 2, 2);
  CHECK(reused.data() == freed);
  for (int i = 0; i < 4; ++i) CHECK(std::isnan(reused(i)));
}

TEST_CASE("16-bit tensors occupy 2 bytes an element") {
  std::vector<half> values(4, half(1.5f));
  Hbm hbm;
  const Tensor tensor =
      hbm.add_input("Q", {Kind::matrix, DType::fp16, {1, 1, 2, 2}, {4, 4, 2, 1}}, values.data());
  Sram sram(hbm);
  const Tile tile = sram.load(tensor, {0, 0, 0, 2, 0, 2});
  CHECK(tile(1, 1) == 1.5f);
  CHECK(sram.resident_bytes() == 8);
}

TEST_CASE("an empty range has no size, no tiles, and sees nothing") {
  CHECK(Range{5, 3}.size() == 0);
  CHECK(Range{3, 5}.size() == 2);
  CHECK(tiles_touching({5, 3}, 2).empty());
  const Band all = {100, 100, 0, 8, 8};
  CHECK(all.keys_seen_by({3, 3}).empty());
  CHECK(all.rows_that_see({3, 3}).empty());
}

TEST_CASE("ranges and tile classes agree with the oracle's mask, pair by pair, up to 12 x 12") {
  const Index sides[] = {unbounded, -13, -8, -3, -1, 0, 1, 2, 7, 12};
  for (Index n_q = 0; n_q <= 12; ++n_q)
    for (Index n_k = 0; n_k <= 12; ++n_k)
      for (const int alignment : {FLASHBOOK_BOTTOM_RIGHT, FLASHBOOK_TOP_LEFT})
        for (const int causal : {0, 1})
          for (const Index left : sides)
            for (const Index right : sides) {
              flashbook_problem p = dense_problem(1, 1, 1, n_q, n_k, 1, 1);
              p.alignment = alignment;
              p.causal = causal;
              p.window_left = left;
              p.window_right = right;
              const AttentionProblem problem(p);
              const Member member = problem.member(0);
              const Band band = band_of(problem, member);
              bool agrees = true;
              for (Index b_r = 1; b_r <= 5; b_r += 2)
                for (Index b_c = 1; b_c <= 4; b_c += 3)
                  for (Index i = 0; i * b_r < n_q; ++i)
                    for (Index j = 0; j * b_c < n_k; ++j) {
                      const Range rows = tile_of(i, b_r, n_q), keys = tile_of(j, b_c, n_k);
                      Index seen = 0;
                      for (Index x = rows.first; x < rows.last; ++x)
                        for (Index y = keys.first; y < keys.last; ++y)
                          seen += problem.visible(member, x, y);
                      const TileClass want = seen == 0 ? TileClass::skip
                                             : seen == rows.size() * keys.size()
                                                 ? TileClass::full
                                                 : TileClass::partial;
                      agrees = agrees && band.classify(rows, keys) == want;
                      const Range js = tiles_touching(band.keys_seen_by(rows), b_c);
                      agrees = agrees && (seen > 0) == (j >= js.first && j < js.last);
                      const Range is = tiles_touching(band.rows_that_see(keys), b_r);
                      agrees = agrees && (seen > 0) == (i >= is.first && i < is.last);
                    }
              CAPTURE(n_q);
              CAPTURE(n_k);
              CAPTURE(alignment);
              CAPTURE(causal);
              CAPTURE(left);
              CAPTURE(right);
              REQUIRE(agrees);
            }
}
