# The formatter and the linter. What they say changes with their version: ours is 14, Debian 12's.
find_program(FLASHBOOK_CLANG_FORMAT clang-format-14)
find_program(FLASHBOOK_RUN_CLANG_TIDY run-clang-tidy-14)

# format: rewrites every file. The test of the same name only looks.
if(FLASHBOOK_CLANG_FORMAT)
  set(format ${PROJECT_SOURCE_DIR}/cmake/format.sh ${FLASHBOOK_CLANG_FORMAT})
  add_custom_target(format COMMAND ${format} -i)
  add_test(NAME format COMMAND ${format} --dry-run --Werror)
else()
  message(STATUS "clang-format-14 not found: no format check")
endif()

# tidy: every file as this build compiles it, which must be with clang (preset sanitize).
if(FLASHBOOK_RUN_CLANG_TIDY AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_custom_target(tidy USES_TERMINAL VERBATIM
    COMMAND ${FLASHBOOK_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}/.*)
endif()
