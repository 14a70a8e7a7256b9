# How a room becomes a library that others can use: from this build, or installed.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# flashbook_library(name SOURCES files... [LINK libraries...] [PRIVATE libraries...])
#
# The library flashbook::name of the room that calls. LINK is what its headers need, PRIVATE what
# only its sources need. Its headers keep their paths: a user includes "cpu_reference/npy.hpp" as
# we do. A library not yet named in flashbook-config.cmake.in must be added there with what it links.
function(flashbook_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;PRIVATE")
  set(target flashbook_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(flashbook::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})

  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/flashbook>)
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE})
  # Not linked: what a static library links is exported with it.
  target_compile_options(${target} PRIVATE
    $<TARGET_PROPERTY:flashbook_warnings,INTERFACE_COMPILE_OPTIONS>)
  # Public, because Eigen's alignment follows the instruction set: a user's code and ours must
  # agree on it when a matrix allocated by one is freed by the other.
  if(FLASHBOOK_NATIVE)
    target_compile_options(${target} PUBLIC -march=native)
  endif()

  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE room)
  install(TARGETS ${target} EXPORT flashbook-targets)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flashbook/${room}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
endfunction()

# find_package(flashbook) for the libraries added so far, from the build and from the install tree.
function(flashbook_package)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flashbook)
  set(config ${PROJECT_BINARY_DIR}/flashbook-config.cmake)
  set(version ${PROJECT_BINARY_DIR}/flashbook-config-version.cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/flashbook-config.cmake.in ${config}
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)

  install(FILES ${config} ${version} DESTINATION ${package_dir})
  install(EXPORT flashbook-targets NAMESPACE flashbook:: DESTINATION ${package_dir})
  export(EXPORT flashbook-targets NAMESPACE flashbook::
    FILE ${PROJECT_BINARY_DIR}/flashbook-targets.cmake)
endfunction()
