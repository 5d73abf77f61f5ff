# Joins the sources of a target into a few large ones, so that headers are parsed once for each and
# not for each file: a full build takes a fraction of the time. -DOSORA_UNITY=OFF compiles each file
# by itself (`make soak` does so), which shows an include that is missing.
# CMake's own UNITY_BUILD is not used: its files name sources by absolute path, so that ccache
# misses in another checkout. These name them from the root, which is on every include path.
option(OSORA_UNITY "Compile the sources of a target in a few large files" ON)

# A batch ends once it has this many bytes. What includes LibTorch costs 4 to 20 s of parsing a
# batch and more memory, so that two batches at once must fit into 8 GB.
set(OSORA_UNITY_BYTES 60000)
set(OSORA_UNITY_HEAVY_BYTES 45000)

# osora_unity(OUT TARGET HEAVY SOURCE...): OUT = the files to compile in place of the sources.
function(osora_unity out target heavy)
  set(${out} ${ARGN} PARENT_SCOPE)
  list(LENGTH ARGN count)
  if(NOT OSORA_UNITY OR count LESS 2)
    return()
  endif()
  set(limit ${OSORA_UNITY_BYTES})
  if(heavy)
    set(limit ${OSORA_UNITY_HEAVY_BYTES})
  endif()
  set(joined "")
  set(content "")
  set(bytes 0)
  set(number 0)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} is_generated)
    if(is_generated OR NOT source MATCHES "\\.cpp$")
      list(APPEND joined ${source})
      continue()
    endif()
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    string(APPEND content "#include \"${source}\"\n")
    if(bytes GREATER limit)
      osora_unity_file(file ${target} ${number} "${content}")
      list(APPEND joined ${file})
      math(EXPR number "${number} + 1")
      set(content "")
      set(bytes 0)
    endif()
  endforeach()
  if(content)
    osora_unity_file(file ${target} ${number} "${content}")
    list(APPEND joined ${file})
  endif()
  set(${out} ${joined} PARENT_SCOPE)
endfunction()

function(osora_unity_file out target number content)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${number}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
  # A type of an unnamed namespace in a class that only this batch sees is one type all the same.
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>")
  set(${out} ${file} PARENT_SCOPE)
endfunction()
