// Component rectified_flow, of Open-Sora v1.2. The inputs select what is computed: those of
// timestep_transform (scale), add_noise (original_samples), training_losses (x_start), draws of
// times (uniform, normal, randint), or the sampling loop with a linear network (z).
#include "worker/cases/case_inputs.hpp"
#include "worker/cases/case_table.hpp"
#include "worker/train/objective/rectified_flow.hpp"
#include "worker/train/objective/rectified_flow_sampler.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <cstdlib>

namespace osora::worker {
namespace {

using Outputs = std::vector<NamedTensor>;

void add(Outputs& outputs, std::string_view variant, std::string_view name,
         at::Tensor const& tensor) {
    outputs.push_back({case_name("out", variant, name), tensor.contiguous()});
}

std::vector<double> numbers(at::Tensor const& tensor) {
    at::Tensor const values = tensor.to(at::kDouble).contiguous();
    auto const* first = values.const_data_ptr<double>();
    return {first, first + values.numel()};
}

Result<at::Tensor> need_fp32(CaseInputs& inputs, std::string_view variant, std::string_view name,
                             std::vector<std::int64_t> shape) {
    OSORA_TRY(auto const found, inputs.need(variant, name, real(std::move(shape))));
    return found.to(at::kFloat);
}

/// in/VARIANT/{height, width, num_frames}, one each for every sample.
Result<std::vector<VideoSize>> read_sizes(CaseInputs& inputs, std::string_view variant,
                                          std::int64_t batch) {
    OSORA_TRY(auto const height, inputs.need(variant, "height", number({batch})));
    OSORA_TRY(auto const width, inputs.need(variant, "width", number({batch})));
    OSORA_TRY(auto const frames, inputs.need(variant, "num_frames", number({batch})));
    auto const h = numbers(height), w = numbers(width), f = numbers(frames);
    std::vector<VideoSize> sizes;
    constexpr double kLimit = 1e9;
    for (std::size_t i = 0; i < h.size(); ++i) {
        for (double const size : {h[i], w[i], f[i]})
            if (!(size > 0 && size <= kLimit))
                return Error{Errc::invalid_input,
                             fmt::format("{}: sizes of sample {} are {} x {} x {}: must be in (0, "
                                         "1e9]",
                                         case_name("in", variant, "height"), i, h[i], w[i], f[i])};
        sizes.push_back({h[i], w[i], static_cast<std::int64_t>(f[i])});
    }
    return sizes;
}

at::Tensor transformed(RectifiedFlowConfig const& config, std::vector<double> const& t,
                       std::vector<VideoSize> const& sizes) {
    std::vector<float> out;
    for (std::size_t i = 0; i < t.size(); ++i)
        out.push_back(static_cast<float>(
            timestep_transform(config, t[i], sizes[i], sizes.front().num_frames == 1)));
    return at::tensor(out);
}

CaseResult run_transform(CaseInputs& inputs) {
    Outputs outputs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto const t, inputs.need(variant, "t", number({-1})));
        OSORA_TRY(auto const scale, inputs.need(variant, "scale", real({1})));
        OSORA_TRY(auto const sizes, read_sizes(inputs, variant, t.size(0)));
        RectifiedFlowConfig config;
        config.transform_scale = scale.item<double>();
        add(outputs, variant, "t", transformed(config, numbers(t), sizes));
    }
    return outputs;
}

CaseResult run_add_noise(CaseInputs& inputs) {
    Outputs outputs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto const x,
                  need_fp32(inputs, variant, "original_samples", {-1, -1, -1, -1, -1}));
        OSORA_TRY(auto const noise, need_fp32(inputs, variant, "noise", x.sizes().vec()));
        OSORA_TRY(auto const t, inputs.maybe(variant, "timesteps", real({x.size(0)})));
        OSORA_TRY(auto const whole_t, inputs.maybe(variant, "timesteps_int", whole({x.size(0)})));
        if (!t.defined() && !whole_t.defined())
            return Error{Errc::invalid_input,
                         case_name("in", variant, "timesteps") + " is missing"};
        if (t.defined()) add(outputs, variant, "x_t", add_noise({}, x, noise, t));
        if (whole_t.defined()) add(outputs, variant, "x_t_int", add_noise({}, x, noise, whole_t));
    }
    return outputs;
}

CaseResult run_losses(CaseInputs& inputs) {
    Outputs outputs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto const x, inputs.need(variant, "x_start", real({-1, -1, -1, -1, -1})));
        OSORA_TRY(auto const noise, inputs.need(variant, "noise", real(x.sizes().vec())));
        OSORA_TRY(auto const t, inputs.need(variant, "t", number({x.size(0)})));
        auto shape = x.sizes().vec();
        shape[1] *= 2;
        OSORA_TRY(auto const output, need_fp32(inputs, variant, "model_output", shape));
        OSORA_TRY(auto const given, inputs.maybe(variant, "mask", whole({x.size(0), x.size(2)})));
        at::Tensor const mask = given.defined() ? given.ne(0) : given;
        at::Tensor const x_t = add_noise({}, x.to(at::kFloat), noise.to(at::kFloat), t, mask);
        add(outputs, variant, "x_t", x_t);
        add(outputs, variant, "t_model", t);  // a time that was given is not transformed
        add(outputs, variant, "velocity_target", at::sub(x, noise));
        add(outputs, variant, "loss", flow_losses(output, x, noise, mask));
    }
    return outputs;
}

/// The name of a variant says how its draws are transformed: "uniform_transform_scale2".
CaseResult run_draws(CaseInputs& inputs) {
    constexpr std::string_view kScale = "_scale";
    Outputs outputs;
    for (auto const& variant : inputs.variants()) {
        if (variant == "meta") continue;  // sizes for those that are transformed
        OSORA_TRY(auto const whole_t, inputs.maybe(variant, "randint", whole({-1})));
        if (whole_t.defined()) {
            add(outputs, variant, "t", whole_t);
            continue;
        }
        RectifiedFlowConfig config;
        OSORA_TRY(auto draws, inputs.maybe(variant, "uniform", real({-1})));
        if (!draws.defined()) {
            OSORA_TRY(draws, inputs.need(variant, "normal", real({-1})));
            config.sampling = TimestepSampling::logit_normal;
        }
        std::vector<double> times;
        for (double const draw : numbers(draws)) times.push_back(timestep_from_draw(config, draw));
        std::vector<VideoSize> sizes;
        auto const transform = variant.find("_transform");
        if (transform != std::string::npos || inputs.has("height")) {
            OSORA_TRY(sizes, read_sizes(inputs, "meta", draws.size(0)));
        }
        if (transform == std::string::npos) {
            add(outputs, variant, "t", at::tensor(times, at::kFloat));
            continue;
        }
        if (auto const scale = variant.find(kScale, transform); scale != std::string::npos)
            config.transform_scale = std::atof(variant.c_str() + scale + kScale.size());
        add(outputs, variant, "t", transformed(config, times, sizes));
    }
    return outputs;
}

/// A toy in the network's place: out = A x + C y t / 1000 over channels, times (1 + x_mask) / 2 for
/// each frame; null captions are 0.
struct LinearNetwork {
    at::Tensor a, c, y;

    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, at::Tensor const& t,
                                        at::Tensor const& x_mask) const {
        at::Tensor const captions = at::cat({y, at::zeros_like(y)});
        at::Tensor const shift = captions.matmul(c.t()).mul(t.div(1000).unsqueeze(1));
        at::Tensor const out = at::einsum("oc,bcthw->bothw", {a, x})
                                   .add(shift.view({shift.size(0), shift.size(1), 1, 1, 1}));
        if (!x_mask.defined()) return out;
        return out.mul(
            x_mask.to(out.scalar_type()).mul(0.5).add(0.5).view({out.size(0), 1, -1, 1, 1}));
    }
};

struct Sampling {
    std::string variant;
    at::Tensor z, mask;
    std::vector<at::Tensor> noise;  // of each step, with a mask
};

Result<Sampling> read_sampling(CaseInputs& inputs, std::string const& variant, std::int64_t batch,
                               std::int64_t steps) {
    Sampling read{variant, {}, {}, {}};
    OSORA_TRY(read.z, need_fp32(inputs, variant, "z", {batch, -1, -1, -1, -1}));
    OSORA_TRY(read.mask, inputs.maybe(variant, "mask", real({batch, read.z.size(2)})));
    for (std::int64_t i = 0; read.mask.defined() && i < steps; ++i) {
        OSORA_TRY(auto noise,
                  need_fp32(inputs, variant, fmt::format("noise_step{}", i), read.z.sizes().vec()));
        read.noise.push_back(std::move(noise));
    }
    return read;
}

CaseResult run_sampling(CaseInputs& inputs) {
    SamplerConfig config;
    config.num_sampling_steps = 6;
    config.flow.use_timestep_transform = true;
    LinearNetwork network;
    OSORA_TRY(network.y, need_fp32(inputs, "", "y", {-1, -1}));
    OSORA_TRY(network.a, need_fp32(inputs, "", "A", {-1, -1}));
    OSORA_TRY(network.c, need_fp32(inputs, "", "C", {network.a.size(0), network.y.size(1)}));
    std::int64_t const batch = network.y.size(0);
    OSORA_TRY(auto const sizes, read_sizes(inputs, "meta", batch));
    at::Tensor const times = sampling_times(config, sizes);
    Outputs outputs;
    add(outputs, "", "timesteps", times);
    for (auto const& variant : inputs.variants()) {
        if (variant == "meta") continue;
        OSORA_TRY(auto const read,
                  read_sampling(inputs, variant, batch, config.num_sampling_steps));
        if (read.z.size(1) != network.a.size(1) || network.a.size(0) < read.z.size(1))
            return Error{Errc::invalid_input,
                         fmt::format("in/A: {} x {} does not fit the {} channels of z",
                                     network.a.size(0), network.a.size(1), read.z.size(1))};
        auto const noise = [&](std::int64_t step) {
            return read.noise[static_cast<std::size_t>(step)];
        };
        add(outputs, variant, "z", sample_flow(config, times, read.z, read.mask, {network, noise}));
    }
    return outputs;
}

struct Part {
    std::string_view tells;  // an input that only this part has
    CaseResult (*run)(CaseInputs&);
};
constexpr Part kParts[] = {{"scale", run_transform}, {"original_samples", run_add_noise},
                           {"x_start", run_losses},  {"uniform", run_draws},
                           {"normal", run_draws},    {"randint", run_draws},
                           {"z", run_sampling}};

}  // namespace

CaseResult run_rectified_flow_case(CaseFile const& file) {
    CaseInputs inputs(file);
    for (auto const& [tells, run] : kParts) {
        if (!inputs.has(tells)) continue;
        auto outputs = run(inputs);
        if (outputs.has_value()) OSORA_TRY_VOID(inputs.finish());
        return outputs;
    }
    return Error{Errc::invalid_input,
                 "rectified_flow: one of the inputs scale, original_samples, x_start, uniform, "
                 "normal, randint, z must say what is wanted"};
}

}  // namespace osora::worker
