// How the ranks of a run share the model.
#pragma once

#include "base/result.hpp"
#include "worker/model/layer_ranks.hpp"
#include "worker/parallel/pipeline_ranks.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/parallel/sequence_ranks.hpp"

#include <memory>
#include <optional>

namespace osora::worker {

struct RankGroups {
    std::optional<Group> all = {};  // none for a single rank
    // Those that share each sample's tokens, linear layers, blocks; null: none do.
    std::shared_ptr<SequenceRanks> tokens = nullptr, linears = nullptr;
    std::shared_ptr<PipelineRanks> stages = nullptr;
    /// With linears or stages, the ranks that form one network (tp first), and those that have the
    /// same parts of it: of its linear layers, of its blocks.
    std::shared_ptr<SequenceRanks> network = nullptr;
    std::optional<Group> replicas = {}, stage = {};

    [[nodiscard]] LayerRanks layers() const { return {linears, stages}; }
};

/// For ranks in the order tp, sp, dp, pp: `tp_size` neighbours share linear layers, `sp_size` of
/// the ranks with the same slices share tokens, and the last stage is the last of the ranks. All
/// ranks of `all` must call it. Each stage has `virtual_stages` runs of blocks.
[[nodiscard]] Result<RankGroups> split_ranks(std::optional<Group> all, int tp_size, int sp_size,
                                             int pp_size = 1, int virtual_stages = 1);

}  // namespace osora::worker
