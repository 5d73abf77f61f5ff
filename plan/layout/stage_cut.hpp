// Which blocks each pipeline stage has, by their work. Pure: the worker and the planner both call
// it, so that a run is cut as its plan says.
#pragma once

#include "plan/buckets/shapes.hpp"
#include "plan/model/model_description.hpp"
#include "plan/model/trained_parameters.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace osora::plan {

/// Work of a forward and backward pass, in one unit: of the embedders, of each block, of the final
/// layer.
struct ModelWork {
    double first = 0;
    std::vector<double> blocks;
    double last = 0;
};

/// What a run does not train.
struct FrozenWeights {
    int lora_rank = 0;                     // > 0: all but adapters
    std::vector<std::string> freeze = {};  // optim.freeze
};

/// Of a sample (model_cost.hpp). Of several buckets, the sum of their shares of a sample: steps of
/// all buckets cost the same. The backward pass of a frozen linear layer is half as long, as in
/// training_flops(); frozen embedders have none.
[[nodiscard]] ModelWork model_work(ModelShape const& shape, std::span<BucketKey const> buckets,
                                   FrozenWeights const& frozen = {});

/// The end of each run: its blocks are [the end before, its own). No cut into that many runs has a
/// smaller largest run (embedders counted in the first, the final layer in the last), with at least
/// one block in each run if there are as many; of those cuts, each run in turn takes what is
/// nearest to an equal share of the rest. More runs than blocks: the last ones are empty. With p
/// stages of v runs stage r has the runs r, r + p, ... of p v.
[[nodiscard]] std::vector<std::int64_t> run_ends(ModelWork const& work, int runs);

/// `given`, or if it is empty the ends of this bucket's work.
[[nodiscard]] std::vector<std::int64_t> ends_or(std::vector<std::int64_t> const& given,
                                                ModelShape const& shape, BucketKey const& key,
                                                int runs, FrozenWeights const& frozen = {});

/// The blocks of a stage's runs.
[[nodiscard]] std::vector<BlockSpan> spans_of_stage(std::vector<std::int64_t> const& ends,
                                                    int stages, int stage);

/// The work of each stage as a share of the whole pass.
[[nodiscard]] std::vector<double> stage_shares(ModelWork const& work,
                                               std::vector<std::int64_t> const& ends, int stages);

/// Parameters of each stage: of its blocks, of the embedders (first), of the final layer (last).
[[nodiscard]] std::vector<BlockParameters> parameters_of_stages(
    ModelShape const& shape, std::vector<std::string> const& freeze,
    std::vector<std::int64_t> const& ends, int stages);

}  // namespace osora::plan
