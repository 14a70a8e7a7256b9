# cmake -DPROGRAM=… -P start_fails.cmake: the judge of an exercise's start must find it wanting, and say
# why. A crash is no verdict.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE printed)
message("${printed}")
if(NOT status STREQUAL 1 OR printed STREQUAL "")
  message(FATAL_ERROR "the start must fail with status 1 and a reason; its status is ${status}")
endif()
