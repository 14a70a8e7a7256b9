#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "walkthrough/attend_tensors.hpp"

/// The stops of `flashbook tour`. Each prints to stdout.
namespace flashbook::tour {

/// Attention on four tokens, every tile's numbers shown.
void step_example();

/// Bytes moved by standard and flash attention and the lower bound, for 1k to 64k tokens; the plot
/// goes to `svg_file` too.
void count_traffic(const std::filesystem::path& svg_file);

/// Q, K and V of one layer of a real transformer.
struct RealLayer {
  std::string name;
  AttendTensors tensors;
};

/// Each layer in fp16, bf16 and fp32. Throws InputError naming --data.
std::vector<RealLayer> load_layers(const std::filesystem::path& folder);

/// Every implementation on every layer; returns whether all passed.
bool verify_real_tensors(const std::vector<RealLayer>& layers);

void print_heading(const std::string& text);

}  // namespace flashbook::tour
