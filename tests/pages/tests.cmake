# Every listing, output, picture, link and number of the Markdown pages; and that the check finds what
# is planted.
add_test(NAME pages
  COMMAND ${FLASHBOOK_PYTHON} -B ${PROJECT_SOURCE_DIR}/walkthrough/pages/pages.py
    $<TARGET_FILE:flashbook> --check)
add_test(NAME pages_self_test
  COMMAND ${FLASHBOOK_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/pages/self_test.py)
