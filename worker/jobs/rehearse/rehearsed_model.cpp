#include "worker/jobs/rehearse/rehearsed_model.hpp"

#include "plan/model/model_cost.hpp"
#include "worker/jobs/rehearse/meta_kernels.hpp"
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/train/objective/stdit3_objective.hpp"

#include <ATen/ops/empty.h>

#include <utility>

namespace osora::worker {
namespace {

at::Tensor without_values(std::vector<std::int64_t> const& sizes) {
    return at::empty(sizes, at::TensorOptions(at::kFloat).device(at::kMeta));
}

/// (B, channels, T, H, W)
at::Tensor latent_of(plan::ModelShape const& shape, plan::BucketPlan const& bucket,
                     std::int64_t samples) {
    std::int64_t const frames = plan::latent_frames(plan::dit_sizes(shape), bucket.num_frames);
    return without_values({samples, shape.in_channels, frames, bucket.height / shape.vae.spatial,
                           bucket.width / shape.vae.spatial});
}

VideoSize video_of(plan::BucketPlan const& bucket) {
    return {static_cast<double>(bucket.height), static_cast<double>(bucket.width),
            bucket.num_frames};
}

Stdit3Input input_of(plan::ModelShape const& shape, plan::BucketPlan const& bucket,
                     std::int64_t samples) {
    Stdit3Input input;
    input.x = latent_of(shape, bucket, samples);
    input.timestep = without_values({samples});
    input.fps = without_values({1});
    input.height_px = bucket.height;
    input.width_px = bucket.width;
    return input;
}

at::Tensor velocity_of(Stdit3 const& network, plan::ModelShape const& shape,
                       plan::BucketPlan const& bucket, std::int64_t samples) {
    return network.forward(input_of(shape, bucket, samples));
}

at::Tensor velocity_of(Stdit2 const& network, plan::ModelShape const& shape,
                       plan::BucketPlan const& bucket, std::int64_t samples) {
    return network.forward(stdit2_input(input_of(shape, bucket, samples), video_of(bucket)));
}

at::Tensor velocity_of(Mmdit const& network, plan::ModelShape const& shape,
                       plan::BucketPlan const& bucket, std::int64_t samples) {
    MmditConfig const& config = network.config();
    auto const latent = latent_of(shape, bucket, samples);
    std::int64_t const patch = config.patch_size, text = shape.text_tokens,
                       tokens =
                           latent.size(2) * (latent.size(3) / patch) * (latent.size(4) / patch);
    MmditInput input;
    input.img = without_values({samples, tokens, config.in_channels});
    input.img_ids = without_values({samples, tokens, 3});
    input.txt = without_values({samples, text, config.context_in_dim});
    input.txt_ids = without_values({samples, text, 3});
    input.timesteps = without_values({samples});
    input.y_vec = without_values({samples, config.vec_in_dim});
    if (config.cond_embed) input.cond = without_values({samples, tokens, config.cond_channels()});
    if (config.guidance_embed) input.guidance = without_values({samples});
    return network.forward(input);
}

template <class Network>
class Without final : public RehearsedModel {
public:
    Without(plan::ModelShape shape, Network network)
        : shape_(std::move(shape)), network_(std::move(network)) {}
    Parameters& parameters() override { return network_.parameters(); }
    at::Tensor forward(plan::BucketPlan const& bucket, std::int64_t samples) const override {
        at::Tensor const made = velocity_of(network_, shape_, bucket, samples);
        return made.dim() == 0 ? made : made.mean();  // of a pipeline's stage before the last
    }

private:
    plan::ModelShape shape_;
    Network network_;
};

template <class Network, class Config>
std::unique_ptr<RehearsedModel> model_of(plan::ModelShape const& shape, Config const& config,
                                         RehearsedLayers const& with) {
    Network network(config, at::TensorOptions(with.type).device(at::kMeta), with.layers);
    network.share_tokens(with.tokens);
    network.set_recompute(std::make_shared<plan::RecomputeChoice>(with.recompute));
    return std::make_unique<Without<Network>>(shape, std::move(network));
}

}  // namespace

Result<std::unique_ptr<RehearsedModel>> rehearsed_model(plan::ModelShape const& shape,
                                                        RehearsedLayers const& with) {
    add_meta_kernels();
    if (shape.family == plan::ModelFamily::mmdit) {
        OSORA_TRY(auto const config, mmdit_config(shape));
        return model_of<Mmdit>(shape, config, with);
    }
    if (shape.family == plan::ModelFamily::stdit2) {
        OSORA_TRY(auto const config, stdit2_config(shape));
        return model_of<Stdit2>(shape, config, with);
    }
    OSORA_TRY(auto const config, stdit3_config(shape));
    return model_of<Stdit3>(shape, config, with);
}

}  // namespace osora::worker
