# osora_soak_test(NAME PROGRAM target [TIMEOUT s] [ENVIRONMENT NAME=VALUE ...] [ARGS ...]): the
# program of an osora_test once more, in the soak tier and usually with more to do: the variables are
# those that it asks tests/kit/size.hpp for. Nothing where the program is not built.
function(osora_soak_test name)
  cmake_parse_arguments(arg "" "PROGRAM;TIMEOUT" "ENVIRONMENT;ARGS" ${ARGN})
  if(NOT TARGET ${arg_PROGRAM})
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 3600)
  endif()
  add_test(NAME ${name} COMMAND ${arg_PROGRAM}
           --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS soak TIMEOUT ${arg_TIMEOUT})
  set_property(TEST ${name} PROPERTY ENVIRONMENT CUDA_VISIBLE_DEVICES= ${arg_ENVIRONMENT})
endfunction()
