# `verify --plugin` on libraries such as a reader builds, most of them wrong.
# plugin_library(name SOURCES files...): what dlopen loads; it links nothing of ours.
function(plugin_library name)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

plugin_library(plugin_faulty plugin/faulty.cpp)
target_link_libraries(plugin_faulty PRIVATE flashbook_warnings)

# The templates as they are, and the first without the function that a plug-in exports.
set(templates ${PROJECT_SOURCE_DIR}/walkthrough/templates)
foreach(name naive no_plugin)
  plugin_library(plugin_${name} ${templates}/naive.c)
  target_link_libraries(plugin_${name} PRIVATE m flashbook_warnings)
  set_target_properties(plugin_${name} PROPERTIES
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
endforeach()
target_compile_definitions(plugin_no_plugin PRIVATE flashbook_plugin=another_name)

flashbook_test(verify_plugin_test
  LINK flashbook::reference nlohmann_json::nlohmann_json
  SOURCES plugin/verify_plugin_test.cpp plugin/plugin_sources_test.cpp unit/command_line.cpp)
if(NOT no_numpy)
  target_sources(verify_plugin_test PRIVATE plugin/python_plugin_test.cpp)
endif()
target_compile_definitions(verify_plugin_test PRIVATE
  FLASHBOOK_PROGRAM="$<TARGET_FILE:flashbook>"
  FLASHBOOK_FAULTY="$<TARGET_FILE:plugin_faulty>"
  FLASHBOOK_NAIVE="$<TARGET_FILE:plugin_naive>"
  FLASHBOOK_NAIVE_SOURCE="${templates}/naive.c"
  FLASHBOOK_EMULATED_TEMPLATE="${templates}/one_warp_a_row.cpp"
  FLASHBOOK_NO_PLUGIN="$<TARGET_FILE:plugin_no_plugin>"
  FLASHBOOK_NUMPY_TEMPLATE="${templates}/with_numpy.py")
add_dependencies(verify_plugin_test flashbook plugin_faulty plugin_naive plugin_no_plugin)

if(FLASHBOOK_HAS_CUDA)
  plugin_library(plugin_cuda ${templates}/one_thread_a_row.cu)
  target_compile_options(plugin_cuda PRIVATE
    $<$<BOOL:${FLASHBOOK_WERROR}>:-Werror=all-warnings> -Xcompiler=-Wall)
  target_compile_definitions(verify_plugin_test PRIVATE
    FLASHBOOK_CUDA_TEMPLATE="$<TARGET_FILE:plugin_cuda>")
  add_dependencies(verify_plugin_test plugin_cuda)
endif()

# The page that tells how, followed to the letter.
add_test(NAME your_kernel_trial
  COMMAND ${FLASHBOOK_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/plugin/trial.py
    ${PROJECT_SOURCE_DIR}/docs/your_kernel.md $<TARGET_FILE:flashbook>)

# The C interface from C, and the suite through it.
flashbook_test(c_interface_test
  LINK flashbook::kernels flashbook::conformance
  SOURCES api/flashbook_c99.c api/c_interface_test.cpp)
set_target_properties(c_interface_test PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)

flashbook_test(verdicts_test
  LINK flashbook::io flashbook::kernels flashbook::conformance
  SOURCES ${PROJECT_SOURCE_DIR}/walkthrough/implementations.cpp api/verdicts_test.cpp)
