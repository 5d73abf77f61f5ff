// Component mmdit: img, img_ids, txt, txt_ids, timesteps, y_vec, with cond_embed cond and with
// guidance_embed guidance, as MMDiTModel.forward takes them -> out. Its config is MMDiTConfig's.
#include "worker/cases/case_table.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/model/mmdit/mmdit.hpp"

namespace osora::worker {
namespace {

Result<MmditInput> read_mmdit_input(CaseFile const& file, CaseInputs& inputs,
                                    std::string_view variant, MmditConfig const& config) {
    MmditInput input;
    OSORA_TRY(auto const img, inputs.need(variant, "img", real({-1, -1, config.in_channels})));
    std::int64_t const batch = img.size(0), tokens = img.size(1);
    OSORA_TRY(input.img_ids, inputs.need(variant, "img_ids", real({batch, tokens, 3})));
    OSORA_TRY(auto const txt,
              inputs.need(variant, "txt", real({batch, -1, config.context_in_dim})));
    OSORA_TRY(input.txt_ids, inputs.need(variant, "txt_ids", real({batch, txt.size(1), 3})));
    OSORA_TRY(input.timesteps, inputs.need(variant, "timesteps", real({batch})));
    OSORA_TRY(auto const y_vec, inputs.need(variant, "y_vec", real({batch, config.vec_in_dim})));
    // Open-Sora hands guidance to every model; one without guidance_in does not read it.
    auto const cond_shape = real({batch, tokens, config.cond_channels()});
    OSORA_TRY(auto const cond, config.cond_embed ? inputs.need(variant, "cond", cond_shape)
                                                 : inputs.maybe(variant, "cond", cond_shape));
    OSORA_TRY(auto const guidance, config.guidance_embed
                                       ? inputs.need(variant, "guidance", real({batch}))
                                       : inputs.maybe(variant, "guidance", real({batch})));
    if (config.guidance_embed) input.guidance = guidance;
    if (config.cond_embed) input.cond = as_leaf(file, cond);
    input.img = as_leaf(file, img);
    input.txt = as_leaf(file, txt);
    input.y_vec = as_leaf(file, y_vec);
    return input;
}

}  // namespace

CaseResult run_mmdit_case(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_mmdit_config(file.config));
    CaseInputs inputs(file);
    std::vector<CaseRun> runs;
    std::vector<MmditInput> read;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto input, read_mmdit_input(file, inputs, variant, config));
        OSORA_TRY(auto weight, read_loss_weight(file, inputs, variant, input.img.sizes().vec()));
        runs.push_back(
            {variant,
             std::move(weight),
             {{"img", input.img}, {"txt", input.txt}, {"y_vec", input.y_vec}, {"cond", input.cond}},
             {}});
        read.push_back(std::move(input));
    }
    OSORA_TRY_VOID(inputs.finish());
    OSORA_TRY(auto model, load_case_model<Mmdit>(file, config));
    std::vector<NamedTensor> outputs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].forward = [&] { return model.forward(read[i]); };
        append_outputs(file, model.parameters(), runs[i], outputs);
    }
    return outputs;
}

}  // namespace osora::worker
