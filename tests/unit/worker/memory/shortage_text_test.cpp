// The texts are those of LibTorch 2.11 and NCCL 2.28, the first from an H200.
#include "worker/memory/shortage_text.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

TEST(ShortageText, SaysWhatWhereAndHowMuch) {
    EXPECT_EQ(in_brief("CUDA out of memory. Tried to allocate 972.00 MiB. GPU 0 has a total "
                       "capacity of 139.80 GiB of which 31.12 MiB is free. Including non-PyTorch "
                       "memory, this process has 139.76 GiB memory in use. Of the allocated memory "
                       "138.96 GiB is allocated by PyTorch, and 138.00 MiB is reserved by PyTorch "
                       "but unallocated. If reserved but unallocated memory is large try setting "
                       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."),
              "CUDA out of memory. Tried to allocate 972.00 MiB. GPU 0 has a total capacity of "
              "139.80 GiB of which 31.12 MiB is free.");
    EXPECT_EQ(in_brief("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity "
                       "of 79.10 GiB of which 1.00 GiB is free. Process 417 has 70.00 GiB memory "
                       "in use. If reserved but unallocated memory is large try setting"),
              "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.10 "
              "GiB of which 1.00 GiB is free.");
}

TEST(ShortageText, KeepsOthersFirstLine) {
    EXPECT_EQ(in_brief("24.0 MiB asked for, 90.1 MiB of 100 MiB in use"),
              "24.0 MiB asked for, 90.1 MiB of 100 MiB in use");
    EXPECT_EQ(in_brief("CUDA error: out of memory\nCUDA kernel errors might be asynchronous"),
              "CUDA error: out of memory");
    EXPECT_EQ(in_brief("NCCL error in: NCCLUtils.cpp:94, unhandled cuda error, NCCL version 2.28.9"
                       "\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\n"
                       "Cuda failure 2 'out of memory'"),
              "NCCL error in: NCCLUtils.cpp:94, unhandled cuda error, NCCL version 2.28.9: out of "
              "memory");
}

}  // namespace
}  // namespace osora::worker
