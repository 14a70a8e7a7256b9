#pragma once

#include <filesystem>
#include <vector>

#include "sim/io/machines.hpp"

namespace flashbook {

/// One machine, or a list of them, described in JSON: an object with "name", "source" and the
/// fields that io::gpu_fields() names, no others, all but those that may be unknown. Throws
/// InputError that names the file, the key and what is accepted.
std::vector<io::Gpu> read_machines(const std::filesystem::path& file);

}  // namespace flashbook
