#include "walkthrough/commands/sim/output_options.hpp"

#include <CLI/CLI.hpp>

#include "cpu_reference/error.hpp"
#include "walkthrough/output_file.hpp"

namespace flashbook::sim {

void OutputOptions::add_to(CLI::App& verb, bool pictures) {
  verb.add_flag("--json", json, "for programs");
  verb.add_option("--csv", csv, "writes the numbers to this file");
  if (pictures) verb.add_option("--svg", svg, "writes the picture to this file");
}

void OutputOptions::check() const {
  if (!csv.empty()) check_writable("--csv", csv);
  if (!svg.empty()) check_writable("--svg", svg);
  if (!csv.empty() && csv == svg)
    throw InputError("--csv and --svg are both '" + csv + "': pass two files");
}

void OutputOptions::write(const Records& records, const std::string& picture) const {
  if (!csv.empty()) write_file("--csv", csv, as_csv(records));
  if (!svg.empty()) write_file("--svg", svg, picture);
}

}  // namespace flashbook::sim
