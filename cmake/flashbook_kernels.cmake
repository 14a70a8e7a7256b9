# flashbook_kernels(rung.cuh... [ARCHITECTURE 90a]): kernels of the room that calls, for both machines. A
# rung is one file; what compiles it for a machine is one line. Those of an architecture of their own
# are compiled for a GPU where the build has it.
function(flashbook_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "ARCHITECTURE" "")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE room)
  foreach(rung ${arg_UNPARSED_ARGUMENTS})
    cmake_path(GET rung STEM name)
    foreach(language cpp cu)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.${language})
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${room}/${rung}\"\n")
      list(APPEND ${language}_sources ${source})
    endforeach()
  endforeach()
  target_sources(flashbook_kernels PRIVATE ${cpp_sources})
  if(NOT FLASHBOOK_HAS_CUDA OR (arg_ARCHITECTURE AND NOT arg_ARCHITECTURE IN_LIST CMAKE_CUDA_ARCHITECTURES))
    return()
  endif()
  string(REPLACE / _ objects ${room}_${arg_ARCHITECTURE}_gpu)
  string(REPLACE __ _ objects ${objects})
  flashbook_cuda_objects(${objects} SOURCES ${cu_sources})
  # No compiler cache in between: it would not keep the PTX.
  set_target_properties(${objects} PROPERTIES
    CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep_ptx.sh)
  if(arg_ARCHITECTURE)
    set_target_properties(${objects} PROPERTIES CUDA_ARCHITECTURES ${arg_ARCHITECTURE})
  endif()
  target_sources(flashbook_kernels PRIVATE $<TARGET_OBJECTS:${objects}>)
  set_property(GLOBAL APPEND PROPERTY FLASHBOOK_KERNEL_OBJECTS $<TARGET_OBJECTS:${objects}>)
endfunction()
