# The seeds and 42,000 fixed mutations of them run with every build, the fuzzer itself by hand.
flashbook_test(npy_replay_test
  LINK flashbook::reference
  SOURCES fuzz/npy_replay_test.cpp)
target_compile_definitions(npy_replay_test PRIVATE
  FLASHBOOK_NPY_CORPUS="${CMAKE_CURRENT_LIST_DIR}/npy_corpus")

# libFuzzer comes with clang; the preset sanitize builds with it and has the sanitizers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles(
    "#include <cstdint>
     #include <cstdlib>
     extern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }"
    FLASHBOOK_HAS_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(FLASHBOOK_HAS_LIBFUZZER)
    # The reader is compiled again, to have its branches counted.
    add_executable(npy_fuzzer fuzz/npy_fuzzer.cpp ${PROJECT_SOURCE_DIR}/cpu_reference/npy.cpp)
    target_include_directories(npy_fuzzer PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(npy_fuzzer PRIVATE -fsanitize=fuzzer)
    target_link_options(npy_fuzzer PRIVATE -fsanitize=fuzzer)
    target_link_libraries(npy_fuzzer PRIVATE flashbook_warnings)
  endif()
endif()
