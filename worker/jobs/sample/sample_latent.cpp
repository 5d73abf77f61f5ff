// For each family: wraps a network in the function that its sampler calls.
#include "worker/jobs/sample/sample_latent.hpp"

#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/network_parameters.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/objective/rectified_flow_sampler.hpp"
#include "worker/train/objective/rectified_flow_v2.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/objective/token_sampler.hpp"
#include "worker/train/precision.hpp"
#include "worker/train/step_boundary.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <functional>
#include <memory>

namespace osora::worker {
namespace {

at::Tensor first_noise(SamplePlan const& plan, at::IntArrayRef shape) {
    return sample_noise({sample_key(plan.seed, 0, 0, RngPurpose::noise)}, shape);
}

at::TensorOptions options_of(SamplePlan const& plan, at::Device device) {
    return at::TensorOptions(scalar_type_of(plan.precision)).device(device);
}

/// Velocity of what STDiT3 reads, by the network of the plan's family.
using StditVelocity = std::function<at::Tensor(Stdit3Input const&)>;

StditVelocity stdit_velocity(SamplePlan const& plan, std::vector<NamedTensor> const& weights,
                             VideoSize const& size, at::Device device) {
    auto const options = options_of(plan, device);
    if (plan.shape.family == plan::ModelFamily::stdit2) {
        auto model = std::make_shared<Stdit2>(stdit2_config(plan.shape).value(), options);
        model->parameters().load(weights).value();
        return [model, size](Stdit3Input const& input) {
            return model->forward(stdit2_input(input, size)).to(at::kFloat);
        };
    }
    auto model = std::make_shared<Stdit3>(stdit3_config(plan.shape).value(), options);
    model->parameters().load(weights).value();
    return [model](Stdit3Input const& input) { return model->forward(input).to(at::kFloat); };
}

at::Tensor stdit_sample(SamplePlan const& plan, std::vector<NamedTensor> const& weights,
                        SampleCaption const& caption, at::Device device) {
    VideoSize const size{static_cast<double>(plan.height), static_cast<double>(plan.width),
                         plan.num_frames};
    auto const velocity_of = stdit_velocity(plan, weights, size, device);
    SamplerConfig config;
    config.num_sampling_steps = plan.steps;
    config.cfg_scale = plan.cfg_scale;
    config.flow.use_timestep_transform = plan.timestep_shift;
    config.flow.latent_frames =
        plan.shape.vae.temporal == 1 ? LatentFrames::pixels : LatentFrames::also_of_short_clips;
    Stdit3Input input;
    input.fps = at::full({1}, fps_for_network(plan.num_frames, plan.fps),
                         at::TensorOptions().device(device));
    input.height_px = size.height_px;
    input.width_px = size.width_px;
    bool const guided = caption.text.defined();
    if (guided) {
        at::Tensor const text = caption.text.to(device).unsqueeze(1);
        input.y = at::cat({text, text});
        input.y_mask = caption.text_mask;  // of both halves
        input.drop = torch::tensor({false, true}).to(device);
    }
    SamplerNetwork network;
    network.forward = [&](at::Tensor const& x, at::Tensor const& t, at::Tensor const&) {
        // Without a caption both halves are the same.
        input.x = guided ? x : x.narrow(0, 0, 1);
        input.timestep = guided ? t : t.narrow(0, 0, 1);
        at::Tensor const velocity = velocity_of(input);
        return guided ? velocity : at::cat({velocity, velocity});
    };
    at::Tensor const noise = first_noise(plan, {plan.shape.in_channels, plan.latent_frames(),
                                                plan.latent_height(), plan.latent_width()});
    return sample_flow(config, sampling_times(config, {size}).to(device), noise.to(device), {},
                       network);
}

at::Tensor mmdit_sample(SamplePlan const& plan, std::vector<NamedTensor> const& weights,
                        SampleCaption const& caption, at::Device device) {
    Mmdit model(mmdit_config(plan.shape).value(), options_of(plan, device));
    model.parameters().load(weights).value();
    std::int64_t const patch = model.config().patch_size;
    LatentSize const size{plan.latent_frames(), plan.latent_height(), plan.latent_width()};
    std::int64_t const tokens =
        caption.text.defined() ? caption.text.size(1) : plan.shape.text_tokens;
    NullCaption const null = null_caption(model.config(), 1, tokens, device, caption.null);
    MmditInput input;
    input.img_ids = latent_ids(1, size, patch).to(device);
    input.txt_ids = at::zeros({1, tokens, 3}, input.img_ids.options());
    auto const velocity_with = [&](at::Tensor const& text, at::Tensor const& pooled) {
        return [&model, input, text, pooled](at::Tensor const& x, at::Tensor const& t) mutable {
            input.img = x;
            input.timesteps = t;
            input.txt = text;
            input.y_vec = pooled;
            return model.forward(input).to(at::kFloat);
        };
    };
    TokenNetwork network;
    network.with_caption = velocity_with(null.text, null.pooled);
    if (caption.text.defined()) {
        network.without_caption = network.with_caption;
        network.with_caption =
            velocity_with(caption.text.to(device),
                          caption.pooled.defined() ? caption.pooled.to(device) : null.pooled);
    }
    double const alpha = plan.timestep_shift ? shift_alpha(size) : 1.0;
    at::Tensor const noise = pack_latent(
        first_noise(plan, {plan.shape.in_channels, size.frames, size.height, size.width}), patch);
    at::Tensor const sampled =
        sample_tokens(token_times(plan.steps, alpha), plan.cfg_scale, noise.to(device), network);
    return unpack_latent(sampled, size, patch);
}

/// `tensor` as (1, sizes...), where -1 matches any size.
Result<at::Tensor> shaped(SafetensorsContent const& content, std::string const& name,
                          std::vector<std::int64_t> const& sizes) {
    auto const* found = content.find(name);
    if (found == nullptr) return at::Tensor();
    at::Tensor tensor = *found;
    if (tensor.dim() == static_cast<std::int64_t>(sizes.size())) tensor = tensor.unsqueeze(0);
    bool fits = tensor.dim() == static_cast<std::int64_t>(sizes.size()) + 1 && tensor.size(0) == 1;
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
        auto const size = tensor.size(static_cast<std::int64_t>(i) + 1);
        fits = sizes[i] < 0 ? size > 0 : size == sizes[i];
    }
    if (fits) return tensor;
    return Error{Errc::invalid_input,
                 fmt::format("{}: shape [{}], expected [{}] (-1: any)", name,
                             fmt::join(found->sizes().vec(), ","), fmt::join(sizes, ","))};
}

Result<SampleCaption> caption_in(SafetensorsContent const& content, plan::ModelShape const& shape) {
    SampleCaption caption;
    OSORA_TRY(caption.text, shaped(content, "text", {-1, shape.caption_channels}));
    if (!caption.text.defined()) return Error{Errc::invalid_input, "no tensor \"text\""};
    std::int64_t const tokens = caption.text.size(1);
    if (tokens > shape.text_tokens) {
        return Error{Errc::invalid_input,
                     fmt::format("text: {} tokens, the network takes at most {}", tokens,
                                 shape.text_tokens)};
    }
    OSORA_TRY(caption.text_mask, shaped(content, "text_mask", {tokens}));
    if (caption.text_mask.defined() && caption.text_mask.ne(0).sum().item<std::int64_t>() == 0)
        return Error{Errc::invalid_input, "text_mask: no token is left"};
    if (shape.family == plan::ModelFamily::mmdit) {
        OSORA_TRY(caption.pooled, shaped(content, "pooled", {shape.pooled_channels}));
    }
    for (at::Tensor* each : {&caption.text, &caption.pooled}) {
        if (!each->defined()) continue;
        *each = each->to(at::kFloat);
        if (!each->isfinite().all().item<bool>())
            return Error{Errc::invalid_input, "text or pooled: holds NaN or infinity"};
    }
    return caption;
}

}  // namespace

Result<SampleCaption> load_caption(std::filesystem::path const& path,
                                   plan::ModelShape const& shape) {
    OSORA_TRY(auto const content, load_safetensors(path));
    auto caption = caption_in(content, shape);
    if (caption.has_error()) return Error(caption.error()).in(path.string());
    return caption;
}

void fill_caption(SampleCaption& caption, std::int64_t tokens) {
    if (!caption.text.defined() || caption.text.size(1) >= tokens) return;
    std::int64_t const missing = tokens - caption.text.size(1);
    caption.text = at::constant_pad_nd(caption.text, {0, 0, 0, missing}, 0);
    if (caption.text_mask.defined())
        caption.text_mask = at::constant_pad_nd(caption.text_mask, {0, missing}, 0);
}

Result<at::Tensor> sample_latent(SamplePlan const& plan, std::vector<NamedTensor> const& weights,
                                 SampleCaption const& caption, Device const& device) {
    OSORA_TRY(auto const expected, network_parameters(plan.shape));
    OSORA_TRY_VOID(expected.check(weights));
    return at_step_boundary("sampling", [&]() -> Result<at::Tensor> {
        at::NoGradGuard const no_grad;
        bool const mmdit = plan.shape.family == plan::ModelFamily::mmdit;
        auto const sample =
            (mmdit ? mmdit_sample : stdit_sample)(plan, weights, caption, device.torch())
                .to(at::kCPU);
        if (sample.isfinite().all().item<bool>()) return sample;
        return Error{Errc::corrupt, "the sample is not finite: the weights are broken"};
    });
}

}  // namespace osora::worker
