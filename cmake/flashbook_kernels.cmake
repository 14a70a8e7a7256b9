# flashbook_kernels(rung.cuh...): kernels of the room that calls, for both machines. A rung is one
# file; what compiles it for a machine is one line.
function(flashbook_kernels)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
    BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE room)
  foreach(rung ${ARGN})
    cmake_path(GET rung STEM name)
    foreach(language cpp cu)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.${language})
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${room}/${rung}\"\n")
      list(APPEND ${language}_sources ${source})
    endforeach()
  endforeach()
  target_sources(flashbook_kernels PRIVATE ${cpp_sources})
  if(FLASHBOOK_HAS_CUDA)
    string(REPLACE / _ objects ${room}_gpu)
    flashbook_cuda_objects(${objects} SOURCES ${cu_sources})
    # No compiler cache in between: it would not keep the PTX.
    set_target_properties(${objects} PROPERTIES
      CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/keep_ptx.sh)
    target_sources(flashbook_kernels PRIVATE $<TARGET_OBJECTS:${objects}>)
  endif()
endfunction()
