# Script: writes OUT from IN with the commit of SOURCE_DIR; touches OUT only when it changes.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --abbrev=40 --dirty --exclude=*
                OUTPUT_VARIABLE OSORA_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR OSORA_GIT_COMMIT STREQUAL "")
  set(OSORA_GIT_COMMIT unknown)
endif()
configure_file(${IN} ${OUT} @ONLY)
