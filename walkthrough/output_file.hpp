#pragma once

#include <filesystem>
#include <string>

namespace flashbook {

/// Before long work begins: throws InputError naming `flag` unless the file can be written.
void check_writable(const std::string& flag, const std::filesystem::path& file);

/// The whole text or nothing: it is written beside the file and then moved there.
/// Throws InputError naming `flag`.
void write_file(const std::string& flag, const std::filesystem::path& file,
                const std::string& text);

}  // namespace flashbook
