# OUTPUT is FILE with FIND, which must occur in it exactly once, replaced by REPLACE.
file(READ "${FILE}" text)
string(FIND "${text}" "${FIND}" first)
string(FIND "${text}" "${FIND}" last REVERSE)
if(first EQUAL -1 OR NOT first EQUAL last)
  message(FATAL_ERROR "'${FIND}' must occur once in ${FILE}: it is missing, or there are several. "
    "Change the mutant's row to what the file says today.")
endif()
string(LENGTH "${FIND}" length)
math(EXPR rest "${first} + ${length}")
string(SUBSTRING "${text}" 0 ${first} before)
string(SUBSTRING "${text}" ${rest} -1 after)
file(WRITE "${OUTPUT}" "${before}${REPLACE}${after}")
