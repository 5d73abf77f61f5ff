#include "worker/train/memory_guard.hpp"

#include <algorithm>
#include <utility>

namespace osora::worker {

MemoryShortage answer_to(std::string lacked, std::int64_t micro_batch_size, bool can_recompute) {
    MemoryShortage shortage{std::move(lacked), micro_batch_size, 0, false};
    if (micro_batch_size > 1) {
        shortage.next = (micro_batch_size + 1) / 2;
    } else if (can_recompute) {
        shortage.next = 1;
        shortage.recomputes = true;
    }
    return shortage;
}

std::int64_t MemoryGuard::micro_batch_size(ClipSize const& clips, std::int64_t planned) const {
    auto const found = limits_.find(clips);
    return found == limits_.end() ? planned : std::min(planned, found->second);
}

}  // namespace osora::worker
