#include "worker/train/objective/mmdit_objective.hpp"

#include "base/check.hpp"
#include "worker/memory/upload.hpp"
#include "worker/train/objective/caption_drop.hpp"
#include "worker/train/objective/rectified_flow_v2.hpp"
#include "worker/train/sample_rng.hpp"

#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/types.h>

#include <algorithm>

namespace osora::worker {
namespace {

LatentSize latent_size(at::Tensor const& x) {  // (B, C, T, H, W)
    return {x.size(2), x.size(3), x.size(4)};
}

/// `given` with the samples of `drop` (B; may be undefined) replaced by `null`.
at::Tensor dropped(at::Tensor const& given, at::Tensor const& null, at::Tensor const& drop) {
    if (!drop.defined()) return given;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(given.dim()), 1);
    shape[0] = given.size(0);
    return at::where(drop.view(shape), null.to(given.scalar_type()), given);
}

}  // namespace

NullCaption null_caption(MmditConfig const& config, std::int64_t batch, std::int64_t text_tokens,
                         at::Device device, NullCaption const& embedded) {
    auto const options = at::TensorOptions().device(device).dtype(at::kFloat);
    NullCaption null{at::zeros({batch, text_tokens, config.context_in_dim}, options),
                     at::zeros({batch, config.vec_in_dim}, options)};
    if (embedded.text.defined()) {
        std::int64_t const rows = std::min(text_tokens, embedded.text.size(0));
        null.text.narrow(1, 0, rows).copy_(embedded.text.narrow(0, 0, rows));
    }
    if (embedded.pooled.defined()) null.pooled.copy_(embedded.pooled);
    return null;
}

at::Tensor MmditObjective::times(MicroBatch const& batch) const {
    bool const normal = training_.sampling == TimestepSampling::logit_normal;
    std::vector<double> draws;
    for (SampleIdentity const& sample : batch.samples) {
        SampleRng rng(sample_key(training_.seed, sample.epoch, sample.id, RngPurpose::timestep));
        draws.push_back(normal ? rng.normal() : rng.uniform());
    }
    at::Tensor const drawn = torch::tensor(draws, at::kDouble).to(at::kFloat);
    double const alpha = training_.timestep_shift ? shift_alpha(latent_size(batch.x)) : 1.0;
    return uploaded(normal ? shifted_times(drawn, alpha) : time_shift(drawn, alpha),
                    batch.x.device());
}

NullCaption MmditObjective::captions(MicroBatch const& batch) const {
    std::int64_t const count = batch.x.size(0);
    std::int64_t const tokens = batch.text.defined() ? batch.text.size(1) : training_.text_tokens;
    auto const device = batch.x.device();
    NullCaption captions = null_caption(model_.config(), count, tokens, device, training_.null);
    auto const drop =
        draw_caption_drop(batch.samples, training_.seed, training_.caption_drop_prob, 2);
    if (batch.text.defined())
        captions.text = dropped(batch.text, captions.text, drop_tensor(drop[0], device));
    if (batch.pooled.defined())
        captions.pooled = dropped(batch.pooled, captions.pooled, drop_tensor(drop[1], device));
    return captions;
}

at::Tensor MmditObjective::loss(MicroBatch const& batch) {
    OSORA_CHECK_EQ(batch.x.dim(), 5);
    auto const device = batch.x.device();
    std::int64_t const count = batch.x.size(0), patch = model_.config().patch_size;
    at::Tensor const x_0 = pack_latent(batch.x, patch);
    std::vector<std::uint64_t> keys;
    for (SampleIdentity const& sample : batch.samples)
        keys.push_back(sample_key(training_.seed, sample.epoch, sample.id, RngPurpose::noise));
    at::Tensor const noise = uploaded(sample_noise(keys, x_0.sizes().slice(1)), device);
    NullCaption const given = captions(batch);
    MmditInput input;
    input.timesteps = times(batch);
    input.img = noised_tokens(x_0, noise, input.timesteps);
    input.img_ids = uploaded(latent_ids(count, latent_size(batch.x), patch), device);
    input.txt = given.text;
    input.txt_ids = at::zeros({count, given.text.size(1), 3}, input.img_ids.options());
    input.y_vec = given.pooled;
    at::Tensor const made = model_.forward(input);
    if (made.dim() == 0) return made;  // of a pipeline's stage before the last
    return velocity_loss(made, velocity_target(x_0, noise));
}

}  // namespace osora::worker
