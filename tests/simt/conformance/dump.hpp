#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

/// What the probes gave on one machine. The operands are not kept: inputs.hpp makes them again.
namespace flashbook::probes {

using Words = std::vector<std::uint32_t>;

struct Result {
  std::string probe;
  Words words;
};

struct Dump {
  std::string device;  ///< "NVIDIA H200, sm_90, driver 13.0, runtime 13.0"
  std::vector<Result> results;
  std::vector<std::string> failed;  ///< probes that gave nothing: they ended in an error
};

/// Text: the device, then for each probe its name, the number of words and the words in
/// hexadecimal, then "failed" and a name for each that failed.
void write(std::ostream& out, const Dump& dump);
void write(std::ostream& out, const Result& result);
/// Throws std::runtime_error if the text is no dump.
Dump read_dump(std::istream& in);
/// Adds what follows the device.
void read_results(std::istream& in, Dump& dump);

}  // namespace flashbook::probes
