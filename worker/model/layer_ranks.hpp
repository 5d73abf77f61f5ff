// Ranks that share the layers of a network. Either may be null: nothing is shared so.
#pragma once

#include "worker/model/pipeline_stage.hpp"
#include "worker/model/token_ranks.hpp"

#include <memory>

namespace osora::worker {

struct LayerRanks {
    /// Of the linear layers of the blocks each has its slices (tensor parallel).
    std::shared_ptr<TokenRanks> linears = nullptr;
    /// Each has some of the blocks (pipeline parallel). forward() of all but the last gives the
    /// scalar of to_next().
    std::shared_ptr<StageRanks> stages = nullptr;
};

}  // namespace osora::worker
