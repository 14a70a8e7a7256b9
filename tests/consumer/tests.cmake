# A user's project must build against the install tree, the build tree and the sources.
set(scratch ${CMAKE_CURRENT_BINARY_DIR}/consumer)

# consumer_test(name program options...): configures the consumer with these options, builds one of
# its programs and runs it.
function(consumer_test name program)
  add_test(NAME ${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/consumer ${scratch}/${name}
    --build-noclean
    --build-generator ${CMAKE_GENERATOR}
    --build-target ${program}
    --build-options
      ${ARGN}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}
      -DCMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH}
      -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
    --test-command ${program})
endfunction()

add_test(NAME install_clean COMMAND ${CMAKE_COMMAND} -E rm -rf ${scratch}/prefix)
add_test(NAME install
  COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${scratch}/prefix)
set_tests_properties(install_clean PROPERTIES FIXTURES_SETUP clean_prefix)
set_tests_properties(install PROPERTIES FIXTURES_REQUIRED clean_prefix FIXTURES_SETUP prefix)

consumer_test(consumer_install_tree verify
  -Dflashbook_DIR=${scratch}/prefix/${CMAKE_INSTALL_LIBDIR}/cmake/flashbook)
set_tests_properties(consumer_install_tree PROPERTIES FIXTURES_REQUIRED prefix)
consumer_test(consumer_build_tree verify -Dflashbook_DIR=${PROJECT_BINARY_DIR})
consumer_test(consumer_add_subdirectory attend -DFLASHBOOK_SOURCE=${PROJECT_SOURCE_DIR})
consumer_test(consumer_emulator emulate -Dflashbook_DIR=${PROJECT_BINARY_DIR})
consumer_test(consumer_kernels kernel
  -Dflashbook_DIR=${scratch}/prefix/${CMAKE_INSTALL_LIBDIR}/cmake/flashbook)
set_tests_properties(consumer_kernels PROPERTIES FIXTURES_REQUIRED prefix)
