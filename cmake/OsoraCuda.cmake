# CUDA and NCCL for the module that is loaded when a GPU is there (worker/cuda). Nothing else links
# them: osora-worker needs libtorch_cpu only. Taken from the wheels beside LibTorch (bootstrap
# --full), or, for a LibTorch of the user's own, from -DCUDAToolkit_ROOT=DIR. A partial toolkit that
# happens to lie in /usr/local is never picked up by itself.
set(cuda_root ${OSORA_NVIDIA_ROOT}/cu13)
if(CUDAToolkit_ROOT)
  set(cuda_root ${CUDAToolkit_ROOT})
endif()
file(GLOB cuda_runtime ${cuda_root}/lib/libcudart.so.[0-9]* ${cuda_root}/lib64/libcudart.so)
list(APPEND cuda_runtime "")
list(GET cuda_runtime 0 cuda_runtime)

set(cuda_missing "")
if(NOT EXISTS ${OSORA_TORCH_ROOT}/lib/libtorch_cuda.so)
  set(cuda_missing "this LibTorch is for CPUs only")
elseif(NOT cuda_runtime OR NOT EXISTS ${cuda_root}/bin/nvcc
       OR NOT EXISTS ${cuda_root}/include/cublas_v2.h
       OR NOT EXISTS ${cuda_root}/include/cusparse.h)
  set(cuda_missing "the CUDA toolkit is not there (scripts/bootstrap --full, or CUDAToolkit_ROOT)")
endif()
osora_feature(CUDA MISSING "${cuda_missing}" FOUND "${cuda_root}")

find_path(OSORA_NCCL_INCLUDE nccl.h PATHS ${OSORA_NVIDIA_ROOT}/nccl/include ${cuda_root}/include
          NO_DEFAULT_PATH)
if(NOT OSORA_HAVE_CUDA)
  osora_feature(NCCL MISSING "it needs CUDA")
elseif(NOT OSORA_NCCL_INCLUDE)
  osora_feature(NCCL MISSING "nccl.h is not there (scripts/bootstrap --full)")
else()
  osora_feature(NCCL FOUND "${OSORA_NCCL_INCLUDE}")
endif()

if(OSORA_HAVE_CUDA)
  add_library(osora_torch_cuda INTERFACE)
  target_include_directories(osora_torch_cuda SYSTEM INTERFACE ${cuda_root}/include)
  # libtorch_cuda registers its kernels when it is loaded: link it though no symbol asks for it.
  target_link_libraries(osora_torch_cuda INTERFACE osora_torch -Wl,--no-as-needed
    ${OSORA_TORCH_ROOT}/lib/libtorch_cuda.so ${OSORA_TORCH_ROOT}/lib/libc10_cuda.so ${cuda_runtime}
    -Wl,--as-needed)
  foreach(folder cudnn nccl cusparselt nvshmem)
    if(EXISTS ${OSORA_NVIDIA_ROOT}/${folder}/lib)
      target_link_options(osora_torch_cuda INTERFACE
                          -Wl,-rpath-link,${OSORA_NVIDIA_ROOT}/${folder}/lib)
    endif()
  endforeach()
  if(OSORA_HAVE_NCCL)
    target_include_directories(osora_torch_cuda SYSTEM INTERFACE ${OSORA_NCCL_INCLUDE})
    target_compile_definitions(osora_torch_cuda INTERFACE USE_C10D_NCCL)
  endif()
endif()

# nvcc is called by itself: CMake's CUDA language takes 10 s of every configure, and 3.25 does not
# find the C++20 of this nvcc. Machine code for A100 and H100; newer GPUs compile from PTX.
set(OSORA_CUDA_ARCHITECTURES 80 90 CACHE STRING "Compute capabilities of GPUs to compile for")

# osora_cuda_objects(OUT FILE.cu ...): their objects, position-independent.
function(osora_cuda_objects out)
  set(code "")
  foreach(number ${OSORA_CUDA_ARCHITECTURES})
    list(APPEND code -gencode arch=compute_${number},code=sm_${number})
  endforeach()
  list(GET OSORA_CUDA_ARCHITECTURES -1 newest)
  list(APPEND code -gencode arch=compute_${newest},code=compute_${newest})
  set(objects "")
  foreach(source ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${cuda_root}/bin/nvcc -std=c++20 -O3 -DNDEBUG ${code} -ccbin ${CMAKE_CXX_COMPILER}
              -Xcompiler=-fPIC,-Wall,-Wextra -I${CMAKE_SOURCE_DIR} -MD -MF ${object}.d
              -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      DEPFILE ${object}.d
      COMMENT "Compiling ${source}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# osora_cuda_module(NAME SOURCES ... LINK ...): a shared module in build/lib. Programs carry
# $ORIGIN/../lib in their run path, so dlopen("libNAME.so") finds it there and once installed.
function(osora_cuda_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK} osora_torch_cuda)
  set_target_properties(${name} PROPERTIES JOB_POOL_COMPILE heavy)
  set_property(GLOBAL APPEND PROPERTY OSORA_MODULES ${name})
endfunction()
