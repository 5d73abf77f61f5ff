# LibTorch as one imported target, osora_torch: libtorch_cpu + libc10, with ProcessGroupGloo.
# find_package(Torch) is not used: it forces libtorch_cuda into every program and wants a CUDA
# toolkit. Which LibTorch: OSORA_LIBTORCH, else one under CMAKE_PREFIX_PATH, else the one that
# `scripts/bootstrap --libtorch` was given (.deps/libtorch), else the wheel's.
set(OSORA_LIBTORCH "" CACHE PATH "Root of a LibTorch: the folder of its include/ and lib/")

function(osora_find_torch out)
  file(GLOB wheel ${CMAKE_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch)
  set(candidates ${CMAKE_PREFIX_PATH} ${CMAKE_SOURCE_DIR}/.deps/libtorch ${wheel})
  if(OSORA_LIBTORCH)
    set(candidates ${OSORA_LIBTORCH})
  endif()
  foreach(root IN LISTS candidates)
    if(EXISTS "${root}/lib/libtorch_cpu.so")
      if(IS_SYMLINK "${root}")  # its neighbours matter too
        file(REAL_PATH "${root}" root)
      endif()
      set(${out} "${root}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "no lib/libtorch_cpu.so under ${candidates}: run scripts/bootstrap, or pass "
                      "-DOSORA_LIBTORCH=DIR, or -DOSORA_WITH_WORKER=OFF")
endfunction()

# The version out of the headers, "2.11.0", or "unknown".
function(osora_torch_version root out)
  set(${out} unknown PARENT_SCOPE)
  foreach(file torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${root}/include/${file}")
      file(STRINGS "${root}/include/${file}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
      string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
      if(lines)
        string(REPLACE ";" "." lines "${lines}")
        set(${out} "${lines}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

osora_find_torch(OSORA_TORCH_ROOT)
osora_torch_version("${OSORA_TORCH_ROOT}" OSORA_TORCH_VERSION)
osora_summary_line("LibTorch ${OSORA_TORCH_VERSION}: ${OSORA_TORCH_ROOT}")
if(NOT OSORA_TORCH_VERSION MATCHES "^2\\.11\\.")
  message(WARNING "LibTorch ${OSORA_TORCH_VERSION}: osora is tested with 2.11")
endif()
# scripts/bootstrap touches this file when it changed anything under .deps.
if(EXISTS ${CMAKE_SOURCE_DIR}/.deps/stamp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.deps/stamp)
endif()

add_library(osora_torch INTERFACE)
# -idirafter: torch's folder carries an fmt of its own; the system's must win (notes in HACKING.md).
target_compile_options(osora_torch INTERFACE
  "SHELL:-idirafter \"${OSORA_TORCH_ROOT}/include\""
  "SHELL:-idirafter \"${OSORA_TORCH_ROOT}/include/torch/csrc/api/include\"")
# NDEBUG as LibTorch itself is built: without it, its headers give at::RecordFunction and others one
# member more than the library knows.
target_compile_definitions(osora_torch INTERFACE NDEBUG USE_C10D_GLOO)
# The run path names their folder; the libraries find their own from there. Named here, since what
# lies in the source tree, as .deps does, is no link path to CMake.
target_link_libraries(osora_torch INTERFACE
  ${OSORA_TORCH_ROOT}/lib/libtorch_cpu.so ${OSORA_TORCH_ROOT}/lib/libc10.so)
target_link_options(osora_torch INTERFACE "LINKER:-rpath,${OSORA_TORCH_ROOT}/lib")
get_filename_component(OSORA_NVIDIA_ROOT ${OSORA_TORCH_ROOT}/../nvidia ABSOLUTE)
if(EXISTS ${OSORA_NVIDIA_ROOT}/cu13/lib)
  target_link_options(osora_torch INTERFACE "LINKER:-rpath,${OSORA_NVIDIA_ROOT}/cu13/lib"
                      -Wl,-rpath-link,${OSORA_NVIDIA_ROOT}/cu13/lib)
endif()
