#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"

namespace flashbook {

using Implementations = std::vector<std::unique_ptr<Implementation>>;

/// Every implementation this program has, the oracle first. io.fa2 comes twice: with the blocks
/// that are fastest, and with small ones, so that small problems have many tiles.
Implementations implementations();

/// The one called `name`, which may also be one of io::blocked_pairs() with blocks of your own:
/// io.fa2[B_rxB_c], or [B_rxB_c/splits] where the keys are split.
/// Throws InputError listing the names there are.
std::unique_ptr<Implementation> find_implementation(const std::string& name);

}  // namespace flashbook
