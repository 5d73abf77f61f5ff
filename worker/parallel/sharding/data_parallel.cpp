#include "worker/parallel/sharding/data_parallel.hpp"

#include "worker/model/parameters.hpp"
#include "worker/parallel/sharding/grad_reducer.hpp"
#include "worker/parallel/sharding/layer_parallel.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include <utility>

namespace osora::worker {

std::unique_ptr<DataParallel> make_data_parallel(Parameters& parameters, RankGroups groups,
                                                 DataParallelOptions const& options) {
    parameters.allocate_untrained();
    std::unique_ptr<DataParallel> made;
    auto& all = groups.all;
    if (groups.network) {
        made = std::make_unique<LayerParallel>(parameters, std::move(groups), options);
    } else if (all && all->world_size() > 1 && options.zero_stage > 0) {
        made = std::make_unique<ShardedParameters>(
            TrainedSet{parameters.trainable(), parameters.trainable_units(), &parameters},
            ShardGroups{groups.shards ? *groups.shards : *all, groups.copies}, options,
            &parameters);
    } else {
        parameters.allocate_all();
        made = std::make_unique<GradReducer>(parameters.trainable(), std::move(all), options);
    }
    parameters.forget_values();
    return made;
}

}  // namespace osora::worker
