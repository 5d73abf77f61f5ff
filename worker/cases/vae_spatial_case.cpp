#include "worker/cases/vae_spatial_case.hpp"

#include "worker/cases/model_case.hpp"
#include "worker/cases/vae_case_parts.hpp"
#include "worker/vae/spatial_vae.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

namespace osora::worker {
namespace {

Result<VaeRun> read_spatial_run(CaseFile const& file, CaseInputs& inputs,
                                std::string const& variant, SpatialVaeConfig const& config) {
    std::int64_t const factor = config.factor();
    VaeRun run{.variant = variant, .x = {}, .eps = {}, .loss_weight = {}};
    OSORA_TRY(run.x, need_frames(inputs, variant, {-1, config.in_channels, -1, -1}, factor));
    auto const x = run.x.sizes();
    OSORA_TRY(run.eps, maybe_fp64(inputs, variant, "eps",
                                  {x[0], config.latent_channels, x[2] / factor, x[3] / factor}));
    std::vector<std::int64_t> const decoded{x[0], config.out_channels, x[2], x[3]};
    OSORA_TRY(run.loss_weight, file.train_step
                                   ? need_fp64(inputs, variant, "loss_weight", decoded)
                                   : maybe_fp64(inputs, variant, "loss_weight", decoded));
    return run;
}

}  // namespace

CaseResult run_vae_spatial(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_spatial_vae_config(file.config));
    CaseInputs inputs(file);
    std::vector<VaeRun> runs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto run, read_spatial_run(file, inputs, variant, config));
        runs.push_back(std::move(run));
    }
    OSORA_TRY_VOID(inputs.finish());
    auto const weights = case_weights(file);
    OSORA_TRY_VOID(check_part<SpatialVae>(config, weights));
    Parameters parameters{at::TensorOptions(at::kDouble)};
    SpatialVae const vae(parameters, config);
    OSORA_TRY_VOID(parameters.load(weights));

    at::AutoGradMode const grad_mode(file.train_step);
    std::vector<NamedTensor> results;
    for (auto const& run : runs) {
        at::Tensor const x = run.x.requires_grad_(file.train_step);
        VaeOutputs const out{results, run};
        at::Tensor const decoded = vae.decode(out.add_posterior(vae.encode(x)));
        out.add("decoded", decoded);
        if (file.train_step) out.add_gradients(decoded, parameters);
    }
    return results;
}

}  // namespace osora::worker
