// The order of a pipeline stage's passes in a step: 1F1B, interleaved where a stage has several
// virtual stages (arXiv 2104.04473, 2.2), or eager 1F1B, which hides messages (arXiv 2211.05322).
// Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace osora::worker {

/// A virtual stage of a micro-batch.
struct StagePass {
    bool forward = true;  // else backward
    int virtual_stage = 0;
    std::int64_t micro_batch = 0;
    bool operator==(StagePass const&) const = default;
};

struct Pipeline {
    int stages = 1, virtual_stages = 1;
    bool eager = false;  // with one virtual stage
};

/// For stage `stage`: each micro-batch forward and backward through each virtual stage. A stage is
/// as many forward passes ahead as needed to keep the others busy if messages take no time; eager:
/// one more for each following stage, which computes while gradients are on their way.
/// Micro-batches go through a virtual stage in groups of `stages`; the last may be smaller.
[[nodiscard]] std::vector<StagePass> pass_order(Pipeline const& of, int stage,
                                                std::int64_t micro_batches);

}  // namespace osora::worker
