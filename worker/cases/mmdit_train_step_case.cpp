// Component mmdit_train_step: latent (B, C, T, H, W), noise and pred (B, tokens, C p p), normal (B)
// -> packed, img_ids, shift_alpha, t, x_t, target, loss of Open-Sora v2.0.
#include "worker/cases/case_inputs.hpp"
#include "worker/cases/case_table.hpp"
#include "worker/train/objective/rectified_flow_v2.hpp"

#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <cstdlib>

namespace osora::worker {
namespace {

struct TrainStep {
    at::Tensor latent, normal, noise, pred;
};

Result<TrainStep> read_step(CaseInputs& inputs, std::string_view variant) {
    constexpr std::int64_t kPatch = 2;
    TrainStep step;
    OSORA_TRY(step.latent, inputs.need(variant, "latent", real({-1, -1, -1, -1, -1})));
    auto const& x = step.latent;
    if (x.size(3) % kPatch != 0 || x.size(4) % kPatch != 0)
        return Error{Errc::not_divisible,
                     fmt::format("{}: {} x {} is not a multiple of the patch, {}",
                                 case_name("in", variant, "latent"), x.size(3), x.size(4), kPatch)};
    std::int64_t const tokens = x.size(2) * x.size(3) / kPatch * x.size(4) / kPatch;
    std::vector<std::int64_t> const packed{x.size(0), tokens, x.size(1) * kPatch * kPatch};
    OSORA_TRY(step.normal, inputs.need(variant, "normal", real({x.size(0)})));
    OSORA_TRY(step.noise, inputs.need(variant, "noise", real(packed)));
    OSORA_TRY(step.pred, inputs.need(variant, "pred", real(packed)));
    for (at::Tensor* tensor : {&step.latent, &step.normal, &step.noise, &step.pred})
        *tensor = tensor->to(at::kFloat);
    return step;
}

Result<double> sigma_min_of(CaseFile const& file) {
    auto const found = file.content.metadata.find("sigma_min");
    if (found == file.content.metadata.end()) return kSigmaMin;
    char* end = nullptr;
    double const value = std::strtod(found->second.c_str(), &end);
    if (*end == '\0' && value >= 0 && value < 1) return value;
    return Error{Errc::invalid_input,
                 fmt::format("metadata sigma_min '{}': expected [0, 1)", found->second)};
}

}  // namespace

CaseResult run_mmdit_train_step_case(CaseFile const& file) {
    OSORA_TRY(double const sigma_min, sigma_min_of(file));
    CaseInputs inputs(file);
    std::vector<TrainStep> steps;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto step, read_step(inputs, variant));
        steps.push_back(std::move(step));
    }
    OSORA_TRY_VOID(inputs.finish());
    std::vector<NamedTensor> outputs;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto const& [latent, normal, noise, pred] = steps[i];
        auto const add = [&](std::string_view name, at::Tensor const& tensor) {
            outputs.push_back({case_name("out", inputs.variants()[i], name), tensor});
        };
        LatentSize const size{latent.size(2), latent.size(3), latent.size(4)};
        double const alpha = shift_alpha(size);
        at::Tensor const x_0 = pack_latent(latent), t = shifted_times(normal, alpha);
        at::Tensor const target = velocity_target(x_0, noise, sigma_min);
        add("packed", x_0);
        add("img_ids", latent_ids(latent.size(0), size));
        add("shift_alpha", at::full({1}, alpha));
        add("t", t);
        add("x_t", noised_tokens(x_0, noise, t, sigma_min));
        add("target", target);
        add("loss", velocity_loss(pred, target).view({1}));
    }
    return outputs;
}

}  // namespace osora::worker
