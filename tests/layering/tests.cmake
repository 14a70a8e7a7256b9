# The arrows of docs/architecture.md. Any Python 3 will do; the system's own comes first.
find_program(FLASHBOOK_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
add_test(NAME layering
  COMMAND ${FLASHBOOK_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/layering/layering.py ${PROJECT_SOURCE_DIR})
add_test(NAME layering_self_test
  COMMAND ${FLASHBOOK_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/layering/self_test.py)
