#include "worker/cases/vae_temporal_case.hpp"

#include "plan/vae/vae_chunks.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/cases/vae_case_parts.hpp"
#include "worker/vae/temporal_vae.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

namespace osora::worker {
namespace {

Result<void> check(CaseVariant const& variant, TemporalVaeConfig const& config, bool train_step) {
    OSORA_TRY_VOID(variant.only({"x", "eps", "loss_weight"}));
    OSORA_TRY_VOID(variant.require("x", {-1, config.in_out_channels, -1, -1, -1}));
    auto const x = variant.get("x").sizes();
    std::int64_t const latents = plan::latent_frames(x[2], 0, config.factor());
    OSORA_TRY_VOID(variant.allow("eps", {x[0], config.embed_dim, latents, x[3], x[4]}));
    if (train_step) return variant.require("loss_weight", x);
    return {};
}

}  // namespace

CaseResult run_vae_temporal(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_temporal_vae_config(file.config));
    Parameters parameters{at::TensorOptions(at::kDouble)};
    TemporalVae const vae(parameters, config);
    OSORA_TRY_VOID(parameters.load(case_weights(file)));
    OSORA_TRY(auto const variants, case_variants(file));
    for (auto const& variant : variants) OSORA_TRY_VOID(check(variant, config, file.train_step));

    at::AutoGradMode const grad_mode(file.train_step);
    std::vector<NamedTensor> results;
    for (auto const& variant : variants) {
        at::Tensor const x = variant.get("x").requires_grad_(file.train_step);
        CaseOutputs const out{results, variant};
        at::Tensor const decoded = vae.decode(out.add_posterior(vae.encode(x)), x.size(2));
        out.add("decoded", decoded);
        if (file.train_step) add_gradients(results, variant, decoded, parameters);
    }
    return results;
}

}  // namespace osora::worker
