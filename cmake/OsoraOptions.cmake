# Options and global compile settings. AUTO = used when found; the summary says what was decided.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

option(OSORA_WERROR "Warnings are errors" OFF)
option(OSORA_TESTS "Build the tests" ON)
option(OSORA_BENCH "Build the benchmarks" ON)
option(OSORA_WITH_WORKER "Build osora-worker (needs LibTorch and FFmpeg)" ON)
set(OSORA_SANITIZE "" CACHE STRING "address, thread, or empty")
foreach(feature CUDA NCCL SSH SLURM HWLOC CHARTS TEXT)
  set(OSORA_WITH_${feature} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE OSORA_WITH_${feature} PROPERTY STRINGS AUTO ON OFF)
endforeach()

add_compile_options(-Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  # It takes the buffer of fmt 9's bigint for one of 4 bytes (Ubuntu 24.04).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>)
endif()
if(OSORA_WERROR)
  add_compile_options(-Werror)
endif()
if(OSORA_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
  add_compile_options(-Wno-maybe-uninitialized)  # g++ 12 sees ghosts in instrumented code
elseif(OSORA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)  # Asio fences; g++ 12 does not follow them
  add_link_options(-fsanitize=thread)
elseif(NOT OSORA_SANITIZE STREQUAL "")
  message(FATAL_ERROR "OSORA_SANITIZE=${OSORA_SANITIZE}: known values are address and thread")
endif()

find_program(OSORA_CCACHE ccache)
if(OSORA_CCACHE)
  # Paths relative to the checkout: one in another folder finds the same objects.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${OSORA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
# A file that includes LibTorch takes up to 2 GB: as many at once as fit into the memory.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
math(EXPR heavy_jobs "${memory_mib} / 2500")
if(heavy_jobs LESS 1)
  set(heavy_jobs 1)
endif()
set_property(GLOBAL PROPERTY JOB_POOLS heavy=${heavy_jobs})

# Programs find LibTorch where the build found it, and modules in ../lib, built or installed. The run
# path is final when a program is linked: one for the build alone is padded with colons, so that
# `install` can write another over it, and glibc takes the empty entry behind a colon as the current
# folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Lines of the summary that the end of the configure prints.
function(osora_summary_line text)
  set_property(GLOBAL APPEND PROPERTY OSORA_SUMMARY "${text}")
endfunction()
function(osora_print_summary)
  get_property(lines GLOBAL PROPERTY OSORA_SUMMARY)
  list(JOIN lines "\n     " lines)
  message(STATUS "osora ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE} build\n     ${lines}")
endfunction()
