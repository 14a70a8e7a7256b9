// What `bench` says of times and results: tables, records, a picture.
#include "walkthrough/bench/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "walkthrough/number_table.hpp"

namespace flashbook::bench {
namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, width_of(line));
  return most;
}

Row made_up(const std::string& impl, std::int64_t n, double seconds) {
  Row row = {impl,    Pass::forward, DType::bf16, {16384 / n, 16, n, 128, false},
             seconds, 0.01,          0.25,        770e12,
             "",      false};
  return row;
}

std::vector<Row> published() {
  std::vector<Row> rows;
  for (std::int64_t n = 512; n <= 16384; n *= 2)
    for (const char* impl : {"cuda.tensor_core@gpu", "cuda.warp_specialised@gpu", "torch.cudnn"})
      rows.push_back(made_up(impl, n, 1e-6 * static_cast<double>(n)));
  rows.push_back({"torch.math",
                  Pass::forward,
                  DType::bf16,
                  {1, 16, 16384, 128, false},
                  {},
                  {},
                  {},
                  {},
                  "needs 69 GB beside its inputs",
                  false});
  return rows;
}

TEST_CASE("tables fit the terminal and say what is missing") {
  const std::string text = tables(published());
  CHECK(widest_line(text) <= 80);
  CHECK(text.find("16k") != std::string::npos);
  CHECK(text.find("torch.math, n = 16k: needs 69 GB") != std::string::npos);
  const std::vector<Row> one = {made_up("cuda.fa1@gpu", 4096, 1.5e-3)};
  CHECK(tables(one).find("1.5 ms") != std::string::npos);
  CHECK(tables(one).find("n = 4096") != std::string::npos);
}

TEST_CASE("records: a column each, null where nothing was timed, no rate of an emulation") {
  std::vector<Row> rows = published();
  rows.push_back(made_up("cuda.fa1@cpu", 512, 0.1));
  const auto json = as_json(records_of(rows));
  REQUIRE(json.size() == rows.size());
  const auto& first = json[0];
  CHECK(first["impl"] == "cuda.tensor_core@gpu");
  CHECK(first["head_dim"] == 128);
  CHECK(first["seqlen"] == 512);
  CHECK(first["ms"] == doctest::Approx(0.512));
  CHECK(first["tflops"] == doctest::Approx(68719476736.0 / 0.512e-3 / 1e12));
  CHECK(first["error_margin"] == 0.25);
  CHECK(json[rows.size() - 2]["ms"].is_null());
  CHECK(json[rows.size() - 1]["ms"] == 100);
  CHECK(json[rows.size() - 1]["tflops"].is_null());
  const std::string csv = as_csv(records_of(rows));
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == rows.size() + 1);
}

TEST_CASE("the picture holds the fastest eight") {
  std::vector<Row> rows;
  for (int i = 0; i < 10; ++i)
    for (std::int64_t n = 512; n <= 1024; n *= 2)
      rows.push_back(made_up("cuda." + std::to_string(i) + "@gpu", n, 1e-3 / (i + 1)));
  const auto plot = plot_of(rows);
  REQUIRE(plot);
  CHECK(plot->series.size() == 8);
  CHECK(plot->series[0].name == "cuda.9@gpu");
  CHECK(svg(*plot).find("cuda.9@gpu") != std::string::npos);
  CHECK_FALSE(plot_of({}));
  CHECK_FALSE(plot_of({made_up("cuda.fa1@cpu", 512, 1)}));
}

}  // namespace
}  // namespace flashbook::bench
