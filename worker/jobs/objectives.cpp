#include "worker/jobs/objectives.hpp"

#include "worker/jobs/train_data.hpp"
#include "worker/model/older_weights.hpp"
#include "worker/model/weight_files.hpp"
#include "worker/train/precision.hpp"
#include "worker/train/stdit3_objective.hpp"

#include <utility>

namespace osora::worker {
namespace {

RectifiedFlowConfig pixel_space_flow() {
    RectifiedFlowConfig config;
    config.latent_frames = LatentFrames::pixels;
    return config;
}

}  // namespace

Result<std::unique_ptr<Objective>> make_objective(plan::WorkerJob const& job,
                                                  Device const& device) {
    auto const seed = static_cast<std::uint64_t>(job.config.train.seed);
    OSORA_TRY(auto const config, stdit3_config(job.config.model.arch));
    auto const type = scalar_type_of(job.plan.chosen.precision);
    Stdit3 model(config, at::TensorOptions(type).device(device.torch()));
    model.initialise(seed);
    if (!job.config.model.init.empty()) {
        std::string const path = resolve(job, job.config.model.init);
        auto weights = load_weight_files(path);
        if (weights.has_error()) return Error(weights.error()).in("model.init");
        auto const finite = check_finite(*weights);
        if (finite.has_error()) return Error(finite.error()).in("model.init: " + path);
        auto const loaded = model.parameters().load(as_stdit3_weights(std::move(*weights), config));
        if (loaded.has_error()) return Error(loaded.error()).in("model.init: " + path);
    }
    return std::make_unique<Stdit3Objective>(std::move(model), pixel_space_flow(), seed);
}

}  // namespace osora::worker
