// Handles a pass that does not fit into memory: the step is run again with fewer samples in each
// pass, or with activations recomputed. The trainer drives it; every rank comes to the same
// decision, because all have the same facts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace osora::worker {

/// A pass that did not fit on some rank, and the reaction.
struct MemoryShortage {
    std::string lacked;                 // what this rank's allocator said; empty: another rank's
    std::int64_t micro_batch_size = 1;  // of the pass
    std::int64_t next = 0;              // of the bucket's passes from now on; 0: no smaller size
    bool recomputes = false;            // all activations from now on, in all buckets
    bool goes_back = false;             // to a setting that fitted before
};

/// `can_recompute`: activations are kept, and could be recomputed. Halves the samples, rounded up;
/// with one sample, recomputes activations.
[[nodiscard]] MemoryShortage answer_to(std::string lacked, std::int64_t micro_batch_size,
                                       bool can_recompute);

/// Micro-batch sizes that were found to fit, by the size of the clips, until the process ends.
class MemoryGuard {
public:
    using ClipSize = std::array<std::int64_t, 3>;  // frames, height, width in pixels

    /// `planned`, or the reduced size.
    [[nodiscard]] std::int64_t micro_batch_size(ClipSize const& clips, std::int64_t planned) const;
    void limit(ClipSize const& clips, std::int64_t micro_batch_size) {
        limits_[clips] = micro_batch_size;
    }

private:
    std::map<ClipSize, std::int64_t> limits_;
};

}  // namespace osora::worker
