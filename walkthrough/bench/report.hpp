// What `bench` found: for people, for programs, and as a picture.
#pragma once

#include "walkthrough/bench/bench.hpp"
#include "walkthrough/plot.hpp"
#include "walkthrough/records.hpp"

namespace flashbook::bench {

/// Tables, one for each pass, head dimension and mask: of one length all figures of a row, of
/// several the rates side by side. Reasons why something is missing follow, each once.
std::string tables(const std::vector<Row>& rows);

/// A row each. Times of the emulator have no rate.
Records records_of(const std::vector<Row>& rows);

/// Rates over n of the first pass, head dimension and mask in the rows, at most eight contestants:
/// the fastest; nothing if there is no rate. One picture is one group.
std::optional<Plot> plot_of(const std::vector<Row>& rows);

}  // namespace flashbook::bench
