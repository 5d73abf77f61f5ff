#include "worker/cases/vae_pipeline_case.hpp"

#include "plan/vae/vae_chunks.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/cases/vae_case_parts.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

namespace osora::worker {
namespace {

std::vector<plan::FrameChunk> chunks_of(CaseVariant const& variant,
                                        VaePipelineConfig const& config) {
    return plan::frame_chunks(variant.get("x").size(2), config.micro_frame_size,
                              config.temporal.factor());
}

std::string noise_name(std::size_t chunk) {
    return fmt::format("eps_temporal{}", chunk);
}

Result<void> check(CaseVariant const& variant, VaePipelineConfig const& config, bool train_step) {
    OSORA_TRY_VOID(variant.require("x", {-1, config.spatial.in_channels, -1, -1, -1}));
    auto const x = variant.get("x").sizes();
    std::int64_t const factor = config.spatial.factor();
    OSORA_TRY_VOID(variant.divides(factor));
    std::int64_t const h = x[3] / factor;
    std::int64_t const w = x[4] / factor;
    auto const chunks = chunks_of(variant, config);
    std::vector<std::string> names{"x", "eps2d", "loss_weight"};
    for (std::size_t i = 0; i < chunks.size(); ++i) names.push_back(noise_name(i));
    OSORA_TRY_VOID(variant.only(names));
    bool const drawn = variant.has("eps2d");
    OSORA_TRY_VOID(variant.allow("eps2d", {x[0] * x[2], config.spatial.latent_channels, h, w}));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        std::int64_t const shape[] = {x[0], config.temporal.embed_dim, chunks[i].latents, h, w};
        if (!drawn && variant.has(noise_name(i)))
            return Error{Errc::not_found, fmt::format("in/{}eps2d is missing", variant.prefix)};
        if (drawn) OSORA_TRY_VOID(variant.require(noise_name(i), shape));
    }
    if (train_step)
        return variant.require("loss_weight",
                               {x[0], config.spatial.out_channels, x[2], x[3], x[4]});
    return {};
}

VaeNoise noise_of(CaseVariant const& variant, VaePipelineConfig const& config) {
    if (!variant.has("eps2d")) return {};
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < chunks_of(variant, config).size(); ++i)
        parts.push_back(variant.get(noise_name(i)));
    return {variant.get("eps2d"), at::cat(parts, 2)};
}

}  // namespace

CaseResult run_vae_pipeline(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_vae_pipeline_config(file.config));
    VaePipeline vae(config, at::TensorOptions(at::kDouble));
    OSORA_TRY_VOID(vae.parameters().load(case_weights(file)));
    OSORA_TRY(auto const variants, case_variants(file));
    for (auto const& variant : variants) OSORA_TRY_VOID(check(variant, config, file.train_step));

    at::AutoGradMode const grad_mode(file.train_step);
    std::vector<NamedTensor> results;
    for (auto const& variant : variants) {
        at::Tensor const x = variant.get("x").requires_grad_(file.train_step);
        at::Tensor const z = vae.encode(x, noise_of(variant, config)).z;
        at::Tensor const decoded = vae.decode(z, x.size(2)).x;
        CaseOutputs const out{results, variant};
        out.add("z", z);
        out.add("decoded", decoded);
        if (file.train_step) add_gradients(results, variant, decoded, vae.parameters());
    }
    return results;
}

}  // namespace osora::worker
