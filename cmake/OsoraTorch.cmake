# LibTorch as two imported targets, osora_torch (libtorch_cpu + libc10) and osora_gloo (headers of
# ProcessGroupGloo). find_package(Torch) is not used: it forces libtorch_cuda into every program and
# wants a CUDA toolkit. OSORA_LIBTORCH names a LibTorch of the user's own (its include/ and lib/).
set(OSORA_LIBTORCH "" CACHE PATH "Root of a LibTorch; empty: the one that scripts/bootstrap installs")
if(OSORA_LIBTORCH)
  set(torch_root ${OSORA_LIBTORCH})
else()
  file(GLOB torch_root ${CMAKE_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch)
endif()
if(NOT EXISTS "${torch_root}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch under '${torch_root}': run scripts/bootstrap, or pass "
                      "-DOSORA_LIBTORCH=DIR, or -DOSORA_WITH_WORKER=OFF")
endif()
set(OSORA_TORCH_ROOT ${torch_root})
get_filename_component(torch_site ${torch_root} DIRECTORY)
set(OSORA_TORCH_RUNPATH ${torch_root}/lib)
if(EXISTS ${torch_site}/nvidia/cu13/lib)
  list(APPEND OSORA_TORCH_RUNPATH ${torch_site}/nvidia/cu13/lib)
endif()

add_library(osora_torch INTERFACE)
# -idirafter: torch's folder carries an fmt of its own; the system's must win (notes in HACKING.md).
target_compile_options(osora_torch INTERFACE
  "SHELL:-idirafter ${torch_root}/include"
  "SHELL:-idirafter ${torch_root}/include/torch/csrc/api/include")
target_compile_definitions(osora_torch INTERFACE USE_C10D_GLOO)
target_link_libraries(osora_torch INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
foreach(dir IN LISTS OSORA_TORCH_RUNPATH)
  target_link_options(osora_torch INTERFACE -Wl,-rpath,${dir} -Wl,-rpath-link,${dir})
endforeach()
