#include "worker/parallel/sharding/data_parallel.hpp"

#include "worker/model/parameters.hpp"
#include "worker/parallel/sharding/grad_reducer.hpp"
#include "worker/parallel/sharding/layer_parallel.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include <utility>

namespace osora::worker {

std::unique_ptr<DataParallel> make_data_parallel(Parameters& parameters, RankGroups groups,
                                                 DataParallelOptions const& options) {
    if (groups.network)
        return std::make_unique<LayerParallel>(parameters, std::move(groups), options);
    auto& all = groups.all;
    if (all && all->world_size() > 1 && options.zero_stage > 0)
        return std::make_unique<ShardedParameters>(
            TrainedSet{parameters.trainable(), parameters.trainable_units()},
            ShardGroups{groups.shards ? *groups.shards : *all, groups.copies}, options,
            &parameters);
    return std::make_unique<GradReducer>(parameters.trainable(), std::move(all), options);
}

}  // namespace osora::worker
