#include "worker/jobs/vae_of_job.hpp"

#include "worker/jobs/train_data.hpp"
#include "worker/model/weights/weight_files.hpp"

#include <ATen/core/TensorBody.h>

#include <string>
#include <utility>

namespace osora::worker {
namespace {

/// The user's number, the plan's, or the published one.
std::int64_t chosen(AutoOr<int> const& given, int planned, std::int64_t published) {
    if (!given.is_auto()) return *given.value;
    return planned > 0 ? planned : published;
}

}  // namespace

Result<VaePipelineConfig> vae_config_of(plan::WorkerJob const& job) {
    auto const& section = job.config.vae;
    auto sizes = plan::vae_sizes(section.arch);
    if (sizes.has_error()) return Error(sizes.error()).in("vae.arch");
    VaePipelineConfig config = std::move(*sizes);
    auto const& layout = job.plan.chosen;
    config.micro_batch_size =
        chosen(section.micro_batch_size, layout.vae_micro_batch_size, config.micro_batch_size);
    config.micro_frame_size =
        chosen(section.micro_frame_size, layout.vae_micro_frame_size, config.micro_frame_size);
    config.tile_sample_min_size = section.tile_sample_min_size;
    config.freeze_vae_2d = job.config.run.job == "train_vae" && job.config.vae_loss.freeze_2d;
    auto const checked = check_vae_config(config);
    if (checked.has_error()) return Error(checked.error()).in("[vae]");
    return config;
}

Result<VaePipeline> make_vae(plan::WorkerJob const& job, Device const& device, Notices& notices) {
    OSORA_TRY(auto const config, vae_config_of(job));
    VaePipeline vae(config, at::TensorOptions().device(device.torch()));
    vae.initialise(static_cast<std::uint64_t>(job.config.train.seed));
    if (job.config.vae.weights.empty()) return vae;
    std::string const path = resolve(job, job.config.vae.weights);
    auto const weights = load_network_weights(path);
    if (weights.has_error()) return Error(weights.error()).in("vae.weights");
    auto const loaded = vae.parameters().load(weights->tensors);
    if (loaded.has_error()) return Error(loaded.error()).in("vae.weights: " + path);
    for (auto const& each : weights->notices) notices.push_back("vae.weights: " + each);
    return vae;
}

}  // namespace osora::worker
