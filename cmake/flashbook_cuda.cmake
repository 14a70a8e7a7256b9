# The GPU's part of the build, where there is a CUDA Toolkit. Without one everything else works.
option(FLASHBOOK_CUDA "Build for GPUs, too, if a CUDA Toolkit is found" ON)

set(FLASHBOOK_HAS_CUDA OFF)
if(FLASHBOOK_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "No CUDA Toolkit found: kernels are built for the emulator only")
  else()
    # The GPU that is there, or those the kernels are for.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80 90a)
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE capability RESULT_VARIABLE no_gpu ERROR_QUIET)
      if(NOT no_gpu AND capability MATCHES "^([0-9]+)\\.([0-9])")
        set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
        if(CMAKE_CUDA_ARCHITECTURES EQUAL 90)
          set(CMAKE_CUDA_ARCHITECTURES 90a)
        endif()
      endif()
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc has C++20, which CMAKE_CXX_STANDARD asks for here, too.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    set(FLASHBOOK_HAS_CUDA ON)
  endif()
endif()

# flashbook_cuda_objects(name SOURCES files...): .cu files, compiled for the GPU. What links them gets
# the CUDA runtime.
function(flashbook_cuda_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  add_library(${name} OBJECT ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE
    --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra
    $<$<BOOL:${FLASHBOOK_WERROR}>:-Werror=all-warnings>
    $<$<BOOL:${FLASHBOOK_WERROR}>:-Xcompiler=-Werror>)
endfunction()
