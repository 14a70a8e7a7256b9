# Attention in torch, written from the contract alone, judges what `attend` writes. Needs Debian's
# python3-torch, which `book test` installs; without it CTest says that these were skipped.
set(judge_problems 400)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(judge_problems 40)  # every option alone, and some pairs
else()
  add_test(NAME independent_judge_self_test
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/independent/self_test.py
      ${PROJECT_SOURCE_DIR}/docs/contract.md)
  set_tests_properties(independent_judge_self_test PROPERTIES SKIP_RETURN_CODE 77)
endif()
add_test(NAME independent_judge
  COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/independent/judge.py
    --program $<TARGET_FILE:flashbook> --count ${judge_problems}
    --keep ${CMAKE_CURRENT_BINARY_DIR}/independent_judge)
set_tests_properties(independent_judge PROPERTIES SKIP_RETURN_CODE 77)
