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
    /// Where several copies of what ZeRO divides exist: the ranks that share one, and those that
    /// have the same part of each.
    std::optional<Group> shards = {}, copies = {};

    [[nodiscard]] LayerRanks layers() const { return {linears, stages, {}}; }
};

struct GroupSizes {
    int tp_size = 1, sp_size = 1, pp_size = 1;
    int virtual_stages = 1;  // runs of blocks of each stage
    bool eager = false;      // eager 1F1B
    int shard_size = 0;      // neighbours that share what ZeRO divides; 0: all ranks
    AttentionForm attention = AttentionForm::exchange;  // of the ranks that share tokens
};

/// For ranks in the order tp, sp, dp, pp: `tp_size` neighbours share linear layers, `sp_size` of
/// the ranks with the same slices share tokens, and the last stage is the last of the ranks. All
/// ranks of `all` must call it.
[[nodiscard]] Result<RankGroups> split_ranks(std::optional<Group> all, GroupSizes const& sizes);

}  // namespace osora::worker
