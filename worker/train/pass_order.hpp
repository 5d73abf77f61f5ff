// The order of a pipeline stage's passes in a step: 1F1B, interleaved where a stage has several
// virtual stages (arXiv 2104.04473, 2.2). Pure.
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

/// For stage `stage` of `stages`: each micro-batch forward and backward through each virtual stage.
/// A stage is as many forward passes ahead as needed to keep the others busy. Micro-batches go
/// through a virtual stage in groups of `stages`; the last group may be smaller.
[[nodiscard]] std::vector<StagePass> pass_order(int stages, int stage, int virtual_stages,
                                                std::int64_t micro_batches);

}  // namespace osora::worker
