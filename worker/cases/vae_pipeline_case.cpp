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

struct PipelineRun {
    VaeRun run;
    VaeNoise noise;  // of both parts, or none
};

/// in/eps2d and in/eps_temporal0, 1, ... of the chunks, all or none of them.
Result<VaeNoise> read_noise(CaseInputs& inputs, VaeRun const& run,
                            VaePipelineConfig const& config) {
    auto const x = run.x.sizes();
    std::int64_t const h = x[3] / config.spatial.factor(), w = x[4] / config.spatial.factor();
    VaeNoise noise;
    OSORA_TRY(noise.spatial, maybe_fp64(inputs, run.variant, "eps2d",
                                        {x[0] * x[2], config.spatial.latent_channels, h, w}));
    std::vector<at::Tensor> parts;
    for (auto const& chunk :
         plan::frame_chunks(x[2], config.micro_frame_size, config.temporal.factor())) {
        auto const name = fmt::format("eps_temporal{}", parts.size());
        std::vector<std::int64_t> const shape{x[0], config.temporal.embed_dim, chunk.latents, h, w};
        OSORA_TRY(auto part, noise.spatial.defined()
                                 ? need_fp64(inputs, run.variant, name, shape)
                                 : maybe_fp64(inputs, run.variant, name, shape));
        if (part.defined() && !noise.spatial.defined())
            return Error{Errc::invalid_input,
                         case_name("in", run.variant, "eps2d") + " is missing"};
        parts.push_back(std::move(part));
    }
    if (noise.spatial.defined()) noise.temporal = at::cat(parts, 2);
    return noise;
}

Result<PipelineRun> read_pipeline_run(CaseFile const& file, CaseInputs& inputs,
                                      std::string const& variant, VaePipelineConfig const& config) {
    PipelineRun read{.run = {.variant = variant, .x = {}, .eps = {}, .loss_weight = {}},
                     .noise = {}};
    OSORA_TRY(read.run.x, need_frames(inputs, variant, {-1, config.spatial.in_channels, -1, -1, -1},
                                      config.spatial.factor()));
    OSORA_TRY(read.noise, read_noise(inputs, read.run, config));
    auto const x = read.run.x.sizes();
    std::vector<std::int64_t> const decoded{x[0], config.spatial.out_channels, x[2], x[3], x[4]};
    OSORA_TRY(read.run.loss_weight, file.train_step
                                        ? need_fp64(inputs, variant, "loss_weight", decoded)
                                        : maybe_fp64(inputs, variant, "loss_weight", decoded));
    return read;
}

}  // namespace

CaseResult run_vae_pipeline(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_vae_pipeline_config(file.config));
    CaseInputs inputs(file);
    std::vector<PipelineRun> runs;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto run, read_pipeline_run(file, inputs, variant, config));
        runs.push_back(std::move(run));
    }
    OSORA_TRY_VOID(inputs.finish());
    OSORA_TRY(auto vae, load_checked_model<VaePipeline>(config, at::kDouble, case_weights(file)));

    at::AutoGradMode const grad_mode(file.train_step);
    std::vector<NamedTensor> results;
    for (auto const& [run, noise] : runs) {
        at::Tensor const x = run.x.requires_grad_(file.train_step);
        at::Tensor const z = vae.encode(x, noise).z;
        at::Tensor const decoded = vae.decode(z, x.size(2)).x;
        VaeOutputs const out{results, run};
        out.add("z", z);
        out.add("decoded", decoded);
        if (file.train_step) out.add_gradients(decoded, vae.parameters());
    }
    return results;
}

}  // namespace osora::worker
