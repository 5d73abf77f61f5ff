#include "worker/parallel/rank_groups.hpp"

#include <utility>
#include <vector>

namespace osora::worker {
namespace {

/// Ranks first, first + stride, ...
std::vector<int> every(int first, int stride, int count) {
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(first + i * stride);
    return ranks;
}

Result<void> add_copies(RankGroups& groups, int shard_size) {
    Group const& of = *groups.all;
    int const ranks = of.world_size();
    if (shard_size < 2 || shard_size >= ranks) return {};
    int const place = of.rank() % shard_size;
    OSORA_TRY(groups.shards, of.split("shards", every(of.rank() - place, 1, shard_size)));
    OSORA_TRY(groups.copies, of.split("copies", every(place, shard_size, ranks / shard_size)));
    return {};
}

}  // namespace

Result<RankGroups> split_ranks(std::optional<Group> all, GroupSizes const& sizes) {
    auto const [tp_size, sp_size, pp_size, virtual_stages, eager, shard_size, attention] = sizes;
    RankGroups groups{.all = std::move(all)};
    if (groups.all) OSORA_TRY_VOID(add_copies(groups, shard_size));
    if (tp_size * sp_size * pp_size == 1) return groups;
    Group const& of = *groups.all;
    int const of_stage = of.world_size() / pp_size;  // ranks
    int const first = of.rank() / of_stage * of_stage, here = of.rank() % of_stage;
    int const tp_rank = here % tp_size;
    auto const sharing =
        [&](char const* name, std::vector<int> const& ranks, char const* what,
            AttentionForm form =
                AttentionForm::exchange) -> Result<std::shared_ptr<SequenceRanks>> {
        OSORA_TRY(auto group, of.split(name, ranks));
        return std::make_shared<SequenceRanks>(std::move(group), what, form);
    };
    if (tp_size > 1) {
        OSORA_TRY(groups.linears,
                  sharing("linears", every(of.rank() - tp_rank, 1, tp_size), "layers"));
        groups.network = groups.linears;
    }
    if (sp_size > 1) {
        int const together = here / (tp_size * sp_size) * tp_size * sp_size;
        OSORA_TRY(groups.tokens,
                  sharing("tokens", every(first + together + tp_rank, tp_size, sp_size), "tokens",
                          attention));
    }
    if (pp_size > 1) {
        auto const same_place = every(here, of_stage, pp_size);
        auto const direction = [&](std::string const& name) -> Result<PipelineRanks::Direction> {
            OSORA_TRY(auto neighbours, of.split("stages " + name, same_place));
            PipelineRanks::Direction one{std::move(neighbours)};
            if (virtual_stages > 1) {
                OSORA_TRY(one.ends, of.split("stages " + name + ", ends", same_place));
            }
            return one;
        };
        OSORA_TRY(auto forward, direction("forward"));
        OSORA_TRY(auto backward, direction("backward"));
        groups.stages = std::make_shared<PipelineRanks>(std::move(forward), std::move(backward),
                                                        virtual_stages, eager);
        OSORA_TRY(groups.stage, of.split("stage", every(first, 1, of_stage)));
        std::vector<int> network;
        for (int const stage : every(here - tp_rank, of_stage, pp_size))
            for (int const rank : every(stage, 1, tp_size)) network.push_back(rank);
        OSORA_TRY(groups.network, sharing("network", network, "network"));
    }
    if (tp_size > 1) {
        OSORA_TRY(groups.replicas,
                  of.split("replicas", every(first + tp_rank, tp_size, of_stage / tp_size)));
    }
    return groups;
}

}  // namespace osora::worker
