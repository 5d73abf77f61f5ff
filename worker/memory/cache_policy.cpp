#include "worker/memory/cache_policy.hpp"

namespace osora::worker {

bool CachePolicy::should_empty(std::string const& bucket, std::int64_t peak_bytes,
                               CacheState const& now, double elapsed_s) {
    bool const first = bucket_.empty();
    bool const changed = bucket != bucket_;
    bucket_ = bucket;
    if (first || !changed || peak_bytes <= 0 || now.total_bytes <= 0) return false;
    auto const free_blocks = now.reserved_bytes - now.allocated_bytes;
    auto const usable = kUsable * static_cast<double>(now.total_bytes);
    if (static_cast<double>(peak_bytes + free_blocks) <= usable) return false;
    return seconds_ <= kTimeShareMax * elapsed_s;
}

void CachePolicy::emptied(std::int64_t bytes, double seconds) {
    ++times_;
    bytes_ += bytes;
    seconds_ += seconds;
}

}  // namespace osora::worker
