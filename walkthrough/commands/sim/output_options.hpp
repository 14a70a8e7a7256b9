#pragma once

#include <CLI/App.hpp>
#include <string>

#include "walkthrough/records.hpp"

namespace flashbook::sim {

/// Where an answer goes beside the terminal.
struct OutputOptions {
  bool json = false;
  std::string csv, svg;  ///< file names; empty: none

  /// --json and --csv, and with `pictures` --svg.
  void add_to(CLI::App& verb, bool pictures = true);
  /// Before the work begins: throws InputError if a file cannot be written.
  void check() const;
  /// The files that were asked for; `picture` is the SVG text, where the verb draws one. Throws
  /// InputError.
  void write(const Records& records, const std::string& picture = "") const;
};

}  // namespace flashbook::sim
