#include "worker/train/stdit3_objective.hpp"

#include "worker/train/sample_rng.hpp"

#include <torch/types.h>

namespace osora::worker {

at::Tensor Stdit3Objective::loss(MicroBatch const& batch) {
    std::vector<std::uint64_t> noise_keys;
    std::vector<double> times, fps;
    for (SampleIdentity const& sample : batch.samples) {
        auto key = [&](RngPurpose purpose) {
            return sample_key(seed_, sample.epoch, sample.id, purpose);
        };
        noise_keys.push_back(key(RngPurpose::noise));
        times.push_back(sample_timestep(flow_, batch.size, SampleRng(key(RngPurpose::timestep))));
        fps.push_back(sample.fps);
    }
    auto const here = [&](at::Tensor const& tensor) { return tensor.to(batch.x.device()); };
    at::Tensor const t = here(torch::tensor(times, at::kDouble).to(at::kFloat));
    at::Tensor const noise = here(sample_noise(noise_keys, batch.x.sizes().slice(1)));
    Stdit3Input input;
    input.x = add_noise(flow_, batch.x, noise, t);
    input.timestep = t;
    input.fps = here(torch::tensor(fps, at::kDouble).to(at::kFloat));
    input.height_px = batch.size.height_px;
    input.width_px = batch.size.width_px;
    return flow_losses(model_.forward(input), batch.x, noise).mean();
}

}  // namespace osora::worker
