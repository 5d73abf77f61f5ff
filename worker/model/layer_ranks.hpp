// Ranks that share the layers of a network. Either may be null: then nothing is shared in that way.
#pragma once

#include "worker/model/pipeline_stage.hpp"
#include "worker/model/token_ranks.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace osora::worker {

struct LayerRanks {
    /// Each has slices of the blocks' linear layers (tensor parallel).
    std::shared_ptr<TokenRanks> linears = nullptr;
    /// Each has some of the blocks (pipeline parallel). forward() of all but the last returns the
    /// scalar of StageLink::send().
    std::shared_ptr<StageRanks> stages = nullptr;
    /// Trainable tensors have no memory at first (Parameters::delay_memory).
    bool delays_memory = false;
    std::vector<std::int64_t> run_ends = {};  // of their blocks (StageCut); empty: equally many
};

}  // namespace osora::worker
