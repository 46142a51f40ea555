# cmake -DPROGRAM=... -DEXPECTED=... -P CompareOutput.cmake: fails unless the program ends well and prints exactly that file.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE got RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM}: expected exit code 0, got ${code}")
endif()
file(READ ${EXPECTED} want)
if(NOT got STREQUAL want)
  message(FATAL_ERROR "${PROGRAM} prints\n${got}\nand ${EXPECTED} says\n${want}\nIf the program is right: ${PROGRAM} > ${EXPECTED}")
endif()
