#include "worker/train/objective/stdit3_objective.hpp"

#include "worker/memory/upload.hpp"
#include "worker/train/objective/caption_drop.hpp"
#include "worker/train/sample_rng.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <torch/types.h>

#include <algorithm>

namespace osora::worker {

at::Tensor StditObjective::frame_masks(MicroBatch const& batch) const {
    if (!training_.frame_masks) return {};
    std::int64_t const frames = batch.x.size(2);
    at::Tensor const masks =
        at::ones({static_cast<std::int64_t>(batch.samples.size()), frames}, at::kBool);
    auto* into = masks.mutable_data_ptr<bool>();
    bool any = false;
    for (SampleIdentity const& sample : batch.samples) {
        SampleRng rng(sample_key(training_.seed, sample.epoch, sample.id, RngPurpose::frame_mask));
        // Only the original rule has errors, and those are refused when a run is submitted.
        auto const mask =
            training_.frame_masks->draw(static_cast<int>(frames), draws_from(rng)).value();
        any = any || std::ranges::find(mask, false) != mask.end();
        into = std::ranges::copy(mask, into).out;
    }
    return any ? uploaded(masks, batch.x.device()) : at::Tensor();
}

at::Tensor StditObjective::loss(MicroBatch const& batch) {
    RectifiedFlowConfig const& flow = training_.flow;
    std::vector<std::uint64_t> noise_keys;
    std::vector<double> times, fps;
    for (SampleIdentity const& sample : batch.samples) {
        auto key = [&](RngPurpose purpose) {
            return sample_key(training_.seed, sample.epoch, sample.id, purpose);
        };
        noise_keys.push_back(key(RngPurpose::noise));
        times.push_back(sample_timestep(flow, batch.size, SampleRng(key(RngPurpose::timestep))));
        fps.push_back(sample.fps);
    }
    auto const here = [&](at::Tensor const& tensor) { return uploaded(tensor, batch.x.device()); };
    at::Tensor const t = here(torch::tensor(times, at::kDouble).to(at::kFloat));
    at::Tensor const noise = here(sample_noise(noise_keys, batch.x.sizes().slice(1)));
    Stdit3Input input;
    input.x_mask = frame_masks(batch);
    input.x = add_noise(flow, batch.x, noise, t, input.x_mask);
    input.timestep = t;
    input.fps = here(torch::tensor(fps, at::kDouble).to(at::kFloat));
    input.height_px = batch.size.height_px;
    input.width_px = batch.size.width_px;
    if (batch.text.defined()) {
        input.y = batch.text.unsqueeze(1);
        input.y_mask = batch.text_mask;
        auto const drop =
            draw_caption_drop(batch.samples, training_.seed, training_.caption_drop_prob, 1);
        input.drop = drop_tensor(drop[0], batch.x.device());
    }
    at::Tensor const made = velocity(input, batch);
    if (made.dim() == 0) return made;  // of a pipeline's stage before the last
    return flow_losses(made, batch.x, noise, input.x_mask).mean();
}

at::Tensor Stdit3Objective::velocity(Stdit3Input const& input, MicroBatch const&) const {
    return model_.forward(input);
}

at::Tensor Stdit2Objective::velocity(Stdit3Input const& input, MicroBatch const& batch) const {
    return model_.forward(stdit2_input(input, batch.size));
}

Stdit2Input stdit2_input(Stdit3Input const& input, VideoSize const& size) {
    auto const filled = [&](double value) {
        return at::full({1}, value, at::TensorOptions(at::kFloat).device(input.x.device()));
    };
    Stdit2Input made{input, filled(size.height_px), filled(size.width_px),
                     filled(size.width_px / size.height_px),
                     filled(static_cast<double>(size.num_frames))};
    return made;
}

}  // namespace osora::worker
