// [memory] of the run file: available memory, and what may be traded for it.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>

namespace osora::plan {

struct MemorySection {
    AutoOr<std::string> recompute;
    AutoOr<std::string> activation_store;
    bool allow_lossy = false;
    std::string store_rounding = "nearest";  // of int8
    AutoOr<bool> offload_frozen;             // auto: only if nothing fits a rank without
    double gpu_memory_gib = 80;
    AutoOr<double> rank_memory_gib;  // where its model is: the GPU, or the host
};
BOOST_DESCRIBE_STRUCT(MemorySection, (),
                      (recompute, activation_store, allow_lossy, store_rounding, offload_frozen,
                       gpu_memory_gib, rank_memory_gib))

}  // namespace osora::plan
