#include "worker/vae_training/vae_objective.hpp"

#include "base/check.hpp"
#include "plan/config/sections/optim_section.hpp"
#include "plan/vae/vae_chunks.hpp"
#include "worker/memory/recompute.hpp"
#include "worker/memory/upload.hpp"
#include "worker/train/objective/rectified_flow.hpp"
#include "worker/train/sample_rng.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

namespace osora::worker {
namespace {

constexpr char const* kLastLayer = "temporal_vae.decoder.conv_out.conv.weight";

std::vector<at::Tensor> trainable_below(Parameters const& parameters,
                                        std::initializer_list<char const*> prefixes) {
    std::vector<at::Tensor> found;
    for (auto const& [name, tensor, kind] : parameters.all())
        for (char const* prefix : prefixes)
            if (kind == TensorKind::trainable && name.starts_with(prefix)) found.push_back(tensor);
    return found;
}

/// (B, C, T, H, W) -> (B T, C, H, W), frames of clip 0 first.
at::Tensor frames_of(at::Tensor const& video) {
    return video.transpose(1, 2).flatten(0, 1);
}

/// And back.
at::Tensor video_of(at::Tensor const& frames, std::int64_t clips) {
    return frames.unflatten(0, {clips, frames.size(0) / clips}).transpose(1, 2);
}

/// N(0, 1), a row for each sample that depends on nothing but the sample.
at::Tensor draws(MicroBatch const& batch, std::uint64_t seed, RngPurpose purpose,
                 at::IntArrayRef shape) {
    std::vector<std::uint64_t> keys;
    for (SampleIdentity const& sample : batch.samples)
        keys.push_back(sample_key(seed, sample.epoch, sample.id, purpose));
    return uploaded(sample_noise(keys, shape), batch.x.device());
}

}  // namespace

struct VaeObjective::Latents {
    at::Tensor x_z;      // (B, C, T, h, w): of the 2-D part
    at::Tensor x_z_rec;  // likewise, after the temporal part
    at::Tensor z;        // (B, C', T', h, w)
    at::Tensor kl;       // (B)
};

VaeObjective::VaeObjective(Parts parts, plan::VaeLossSection const& loss, std::uint64_t seed)
    : parts_(std::move(parts)),
      section_(loss),
      config_{loss.perceptual_weight, loss.kl_weight, loss.logvar},
      seed_(seed) {
    auto const& all = parts_.vae.parameters();
    encoder_ = trainable_below(all, {"spatial_vae.module.encoder.", "spatial_vae.module.quant_"});
    decoder_ = trainable_below(all, {"spatial_vae.module.decoder.", "spatial_vae.module.post_"});
    temporal_ = trainable_below(all, {"temporal_vae."});
}

void VaeObjective::use(plan::OptimSection const& optim) {
    if (parts_.adversary) parts_.adversary->set_rate(optim.lr);
}

void VaeObjective::begin_step(int step) {
    step_ = step;
    squared_error_ = at::Tensor();
    clips_ = 0;
    if (parts_.adversary) parts_.adversary->forget();
}

/// The frames that this step sees: all micro-batches of all ranks see as many.
at::Tensor VaeObjective::seen(at::Tensor const& x) const {
    SampleRng rng(sample_key(seed_, 0, static_cast<std::uint64_t>(step_), RngPurpose::seen_frames));
    auto const all = static_cast<std::uint64_t>(x.size(2));
    if (section_.mixed == "image" && rng.uniform() < section_.mixed_image_ratio)
        return x.narrow(2, 0, 1);
    if (section_.mixed == "random")
        return x.narrow(2, 0, static_cast<std::int64_t>(1 + rng.below(all)));
    return x;
}

at::Tensor VaeObjective::encode_frames(at::Tensor const& x, MicroBatch const& batch) const {
    auto const& vae = parts_.vae;
    std::int64_t const factor = vae.config().spatial.factor();
    at::Tensor const eps = draws(batch, seed_, RngPurpose::vae_frames,
                                 {x.size(2), vae.config().spatial.latent_channels,
                                  x.size(3) / factor, x.size(4) / factor})
                               .flatten(0, 1);
    at::AutoGradMode const graph(c10::GradMode::is_enabled() && !encoder_.empty());
    at::Tensor const frames =
        over_rows(frames_of(x), vae.config().micro_batch_size, encoder_,
                  [&vae, eps](at::Tensor const& rows, std::int64_t first) {
                      auto const gaussian = gaussian_of(vae.spatial().encode(rows));
                      return sample(gaussian, eps.narrow(0, first, rows.size(0)))
                          .mul(vae.config().z_scale_2d);
                  });
    return video_of(frames, x.size(0));
}

VaeObjective::Latents VaeObjective::through_time(at::Tensor const& x_z,
                                                 MicroBatch const& batch) const {
    auto const& vae = parts_.vae;
    auto const& config = vae.config();
    std::int64_t const frames = x_z.size(2);
    at::Tensor const eps =
        draws(batch, seed_, RngPurpose::vae_latents,
              {config.temporal.embed_dim, vae.latent_frames(frames), x_z.size(3), x_z.size(4)});
    auto const chunks =
        plan::frame_chunks(frames, config.micro_frame_size, config.temporal.factor());
    bool const in_parts = chunks.size() > 1 || (config.micro_batch_size > 0 &&
                                                config.micro_batch_size < frames * x_z.size(0));
    Latents latents;
    latents.x_z = x_z;
    std::vector<at::Tensor> rec, z;
    for (plan::FrameChunk const& chunk : chunks) {
        at::Tensor const noise = eps.narrow(2, chunk.latent_start, chunk.latents);
        Part const part = [&vae, noise, count = chunk.frames](auto const& inputs) {
            auto const gaussian = gaussian_of(vae.temporal().encode(inputs[0]));
            at::Tensor const drawn = sample(gaussian, noise);
            return std::vector{vae.temporal().decode(drawn, count), drawn, kl_divergence(gaussian)};
        };
        std::vector const input{x_z.narrow(2, chunk.start, chunk.frames)};
        auto const out = in_parts ? recompute(part, input, temporal_) : part(input);
        rec.push_back(out[0]);
        z.push_back(out[1]);
        latents.kl = latents.kl.defined() ? latents.kl.add(out[2]) : out[2];
    }
    latents.x_z_rec = at::cat(rec, 2);
    latents.z = at::cat(z, 2);
    return latents;
}

at::Tensor VaeObjective::decode_frames(at::Tensor const& x_z) const {
    auto const& vae = parts_.vae;
    at::Tensor const frames =
        over_rows(frames_of(x_z), vae.config().micro_batch_size, decoder_,
                  [&vae](at::Tensor const& rows, std::int64_t) {
                      return vae.spatial().decode(rows.div(vae.config().z_scale_2d));
                  });
    return video_of(frames, x_z.size(0));
}

/// Per frame (B T, 1, 1, 1), or undefined.
at::Tensor VaeObjective::perceptual(at::Tensor const& x, at::Tensor const& x_rec) const {
    if (!parts_.perceptual) return {};
    at::Tensor const frames = frames_of(x);
    Lpips const& distance = parts_.perceptual->distance;
    return over_rows(frames_of(x_rec), parts_.vae.config().micro_batch_size, {},
                     [&distance, frames](at::Tensor const& rows, std::int64_t first) {
                         return distance(frames.narrow(0, first, rows.size(0)), rows);
                     });
}

/// Loss of frames: reconstruction, divergence, and the adversarial loss.
at::Tensor VaeObjective::real_loss(at::Tensor const& x, Latents const& latents) {
    at::Tensor const x_rec = decode_frames(latents.x_z_rec);
    at::Tensor const nll = reconstruction_loss(x, x_rec, perceptual(x, x_rec), config_);
    at::Tensor loss = nll.add(latents.kl.mean().mul(config_.kl_loss_weight));
    auto const clips = static_cast<double>(x.size(0));
    {
        at::NoGradGuard const no_grad;
        at::Tensor const error =
            x_rec.clamp(-1, 1).sub(x).square().mean().to(at::kDouble).mul(clips);
        squared_error_ = squared_error_.defined() ? squared_error_.add(error) : error;
        clips_ += clips;
    }
    // If a step sees too little of a clip there is no patch to judge; an evaluation does not train.
    bool const judged = parts_.adversary && c10::GradMode::is_enabled() &&
                        parts_.adversary->takes_part(step_) &&
                        x.size(2) >= Discriminator::least_size({})[0];
    if (!judged) return loss;
    at::Tensor const last_layer = parts_.vae.parameters().find(kLastLayer)->tensor;
    loss = loss.add(parts_.adversary->loss(x_rec, nll, last_layer));
    parts_.adversary->learn(x, x_rec);
    return loss;
}

at::Tensor VaeObjective::loss(MicroBatch const& batch) {
    return loss_of(seen(batch.x), batch);
}

at::Tensor VaeObjective::held_out_loss(MicroBatch const& batch) {
    return loss_of(batch.x, batch);
}

at::Tensor VaeObjective::loss_of(at::Tensor const& frames, MicroBatch const& batch) {
    at::Tensor const x = frames.to(parts_.vae.parameters().find("scale")->tensor.scalar_type());
    Latents const latents = through_time(encode_frames(x, batch), batch);
    at::Tensor loss = at::zeros({}, x.options());
    if (section_.real_rec) loss = loss.add(real_loss(x, latents));
    if (section_.z_rec)
        loss = loss.add(reconstruction_loss(latents.x_z, latents.x_z_rec, {}, config_));
    if (section_.image_identity && x.size(2) == 1)
        loss = loss.add(reconstruction_loss(latents.x_z, latents.z, {}, config_));
    return loss.to(at::kFloat);
}

void VaeObjective::after_update() {
    if (parts_.adversary && section_.real_rec && parts_.adversary->takes_part(step_))
        parts_.adversary->update(parts_.group);
    // The range of a pixel is 2.
    if (clips_ > 0) psnr_db_ = -10 * std::log10(squared_error_.item<double>() / clips_ / 4);
}

std::vector<NamedTensor> VaeObjective::state() const {
    return parts_.adversary ? parts_.adversary->state() : std::vector<NamedTensor>{};
}

Figures VaeObjective::figures() const {
    if (!section_.real_rec) return {};
    Figures figures{{"psnr_db", psnr_db_}};
    if (parts_.adversary && parts_.adversary->left_out() > 0)
        figures.emplace("discriminator_skipped", parts_.adversary->left_out());
    return figures;
}

}  // namespace osora::worker
