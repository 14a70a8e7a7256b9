#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cpu_reference/implementation.hpp"

namespace flashbook {

using Implementations = std::vector<std::unique_ptr<Implementation>>;

/// Every implementation this program has, the oracle first.
Implementations implementations();

/// The one called `name`; throws InputError listing the names there are.
const Implementation& find_implementation(const Implementations& all, const std::string& name);

}  // namespace flashbook
