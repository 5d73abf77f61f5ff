# One way to declare each kind of target, so that folders stay one screen long.
include(OsoraUnity)

# osora_library(NAME [HEAVY] SOURCES ... LINK ...): a static library, headers seen from the root.
function(osora_library name)
  cmake_parse_arguments(arg "HEAVY" "" "SOURCES;LINK" ${ARGN})
  osora_unity(sources ${name} ${arg_HEAVY} ${arg_SOURCES})
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  if(arg_HEAVY)
    set_property(TARGET ${name} PROPERTY JOB_POOL_COMPILE heavy)
  endif()
endfunction()

# osora_program(NAME [HEAVY] SOURCES ... LINK ...): an executable in build/bin.
function(osora_program name)
  cmake_parse_arguments(arg "HEAVY" "" "SOURCES;LINK" ${ARGN})
  osora_unity(sources ${name} ${arg_HEAVY} ${arg_SOURCES})
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  if(arg_HEAVY)
    set_property(TARGET ${name} PROPERTY JOB_POOL_COMPILE heavy)
  endif()
endfunction()

# A shorter guard ends a slow program on a busy machine.
function(osora_check_timeout name timeout)
  if(timeout LESS 900)
    message(FATAL_ERROR "${name}: TIMEOUT ${timeout}: 900 is the least")
  endif()
endfunction()

# osora_test(NAME TIER gate|soak [HEAVY] [WAITS] SOURCES ... LINK ... [TIMEOUT s] [ARGS ...]): a GoogleTest
# program that is one ctest test; scripts/run_tests counts its cases. TIMEOUT (900) is a guard
# against a program that hangs: no limit for how long one may take.
function(osora_test name)
  cmake_parse_arguments(arg "HEAVY;WAITS" "TIER;TIMEOUT" "SOURCES;LINK;ARGS" ${ARGN})
  if(NOT OSORA_WITH_WORKER AND arg_LINK MATCHES "osora_(worker|torch)")
    return()
  endif()
  osora_unity(sources ${name} ${arg_HEAVY} ${arg_SOURCES})
  add_executable(${name} ${sources})
  # Nothing is measured in a test: what it measures is in the libraries.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    OSORA_SOURCE_DIR="${CMAKE_SOURCE_DIR}" OSORA_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  if(arg_HEAVY)
    set_property(TARGET ${name} PROPERTY JOB_POOL_COMPILE heavy)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  osora_check_timeout(${name} ${arg_TIMEOUT})
  add_test(NAME ${name} COMMAND ${name}
           --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml ${arg_ARGS})
  # Ranks of these tests are CPU ranks, also on a machine with a GPU.
  set_tests_properties(${name} PROPERTIES LABELS ${arg_TIER} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "CUDA_VISIBLE_DEVICES=")
  if(arg_WAITS)
    set_property(TEST ${name} APPEND PROPERTY LABELS waits)
  endif()
endfunction()

# osora_script_test(NAME TIER gate|soak [WAITS] SCRIPT file [TIMEOUT s] [ARGS ...]): a python3 or bash script
# that is one test: exit 0 = passed, 77 = skipped with the reason as its last line.
function(osora_script_test name)
  cmake_parse_arguments(arg "WAITS" "TIER;TIMEOUT;SCRIPT" "ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  osora_check_timeout(${name} ${arg_TIMEOUT})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_TIER} TIMEOUT ${arg_TIMEOUT}
    SKIP_RETURN_CODE 77 ENVIRONMENT
    "OSORA_SOURCE_DIR=${CMAKE_SOURCE_DIR};OSORA_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1;CUDA_VISIBLE_DEVICES=")
  if(arg_WAITS)
    set_property(TEST ${name} APPEND PROPERTY LABELS waits)
  endif()
endfunction()
