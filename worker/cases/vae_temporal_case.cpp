#include "worker/cases/vae_temporal_case.hpp"

#include "plan/vae/vae_chunks.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/cases/vae_case_parts.hpp"
#include "worker/vae/temporal_vae.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

namespace osora::worker {
namespace {

Result<VaeRun> read_temporal_run(CaseFile const& file, CaseInputs& inputs,
                                 std::string const& variant, TemporalVaeConfig const& config) {
    VaeRun run{.variant = variant, .x = {}, .eps = {}, .loss_weight = {}};
    OSORA_TRY(run.x, need_fp64(inputs, variant, "x", {-1, config.in_out_channels, -1, -1, -1}));
    auto const x = run.x.sizes();
    std::int64_t const latents = plan::latent_frames(x[2], 0, config.factor());
    OSORA_TRY(run.eps,
              maybe_fp64(inputs, variant, "eps", {x[0], config.embed_dim, latents, x[3], x[4]}));
    OSORA_TRY(run.loss_weight, file.train_step
                                   ? need_fp64(inputs, variant, "loss_weight", x.vec())
                                   : maybe_fp64(inputs, variant, "loss_weight", x.vec()));
    return run;
}

}  // namespace

CaseResult run_vae_temporal(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_temporal_vae_config(file.config));
    CaseInputs inputs(file);
    std::vector<VaeRun> runs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto run, read_temporal_run(file, inputs, variant, config));
        runs.push_back(std::move(run));
    }
    OSORA_TRY_VOID(inputs.finish());
    auto const weights = case_weights(file);
    OSORA_TRY_VOID(check_part<TemporalVae>(config, weights));
    Parameters parameters{at::TensorOptions(at::kDouble)};
    TemporalVae const vae(parameters, config);
    OSORA_TRY_VOID(parameters.load(weights));

    at::AutoGradMode const grad_mode(file.train_step);
    std::vector<NamedTensor> results;
    for (auto const& run : runs) {
        at::Tensor const x = run.x.requires_grad_(file.train_step);
        VaeOutputs const out{results, run};
        at::Tensor const decoded = vae.decode(out.add_posterior(vae.encode(x)), x.size(2));
        out.add("decoded", decoded);
        if (file.train_step) out.add_gradients(decoded, parameters);
    }
    return results;
}

}  // namespace osora::worker
