#pragma once

#include <filesystem>

/// Where things lie that the program needs. Their paths are compiled into one file.
namespace flashbook {

/// The folder that holds chapters/ and data/: beside an installed program, else walkthrough/ of the
/// sources. Throws InputError if it is in neither place.
std::filesystem::path book_folder();

/// The sources that this program was built from; they may be gone.
std::filesystem::path sources_folder();

/// Where it was built; it may be gone.
std::filesystem::path build_folder();

/// The CMake that configured the build.
std::filesystem::path cmake_program();

}  // namespace flashbook
