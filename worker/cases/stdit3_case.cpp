// Components stdit3 and stdit2: x, timestep, fps, height, width, y, and optionally mask, x_mask and
// force_drop_ids, for stdit2 also ar and num_frames, as STDiT3.forward and STDiT2.forward take them
// -> out. Their configs are STDiT3's and STDiT2's.
#include "worker/cases/case_table.hpp"
#include "worker/cases/model_case.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <fmt/format.h>

namespace osora::worker {
namespace {

Result<double> first_number(CaseInputs& inputs, std::string_view variant, std::string_view name) {
    OSORA_TRY(auto const tensor, inputs.need(variant, name, number({-1})));
    auto const value = tensor.select(0, 0).item<double>();
    if (value > 0) return value;
    return Error{Errc::invalid_input,
                 fmt::format("{}: {} is not above 0", case_name("in", variant, name), value)};
}

/// Rows of a tensor that is repeated over the batch.
Result<void> check_repeats(at::Tensor const& tensor, std::int64_t batch, std::string const& name) {
    if (!tensor.defined() || batch % tensor.size(0) == 0) return {};
    return Error{Errc::invalid_input, fmt::format("{}: {} rows do not divide a batch of {}", name,
                                                  tensor.size(0), batch)};
}

Result<Stdit3Input> read_stdit_input(CaseFile const& file, CaseInputs& inputs,
                                     std::string_view variant, Stdit3Config const& config) {
    Stdit3Input input;
    OSORA_TRY(auto const x, inputs.need(variant, "x", real({-1, config.in_channels, -1, -1, -1})));
    std::int64_t const batch = x.size(0);
    input.x = as_leaf(file, x);
    OSORA_TRY(input.timestep, inputs.need(variant, "timestep", number({batch})));
    OSORA_TRY(input.fps, inputs.need(variant, "fps", number({-1})));
    OSORA_TRY_VOID(check_repeats(input.fps, batch, case_name("in", variant, "fps")));
    OSORA_TRY(input.height_px, first_number(inputs, variant, "height"));
    OSORA_TRY(input.width_px, first_number(inputs, variant, "width"));
    OSORA_TRY(auto const y,
              inputs.need(variant, "y", real({batch, 1, -1, config.caption_channels})));
    if (y.size(2) > config.model_max_length)
        return Error{Errc::invalid_input, fmt::format("{}: {} tokens, model_max_length is {}",
                                                      case_name("in", variant, "y"), y.size(2),
                                                      config.model_max_length)};
    input.y = as_leaf(file, y);
    OSORA_TRY(input.y_mask, inputs.maybe(variant, "mask", whole({-1, y.size(2)})));
    OSORA_TRY_VOID(check_repeats(input.y_mask, batch, case_name("in", variant, "mask")));
    std::int64_t const frames = (x.size(2) + config.patch_size[0] - 1) / config.patch_size[0];
    OSORA_TRY(auto const x_mask, inputs.maybe(variant, "x_mask", whole({batch, frames})));
    if (x_mask.defined()) input.x_mask = x_mask.ne(0);
    OSORA_TRY(auto const drop, inputs.maybe(variant, "force_drop_ids", whole({batch})));
    if (drop.defined()) input.drop = drop.eq(1);
    return input;
}

Result<Stdit2Input> read_stdit_input(CaseFile const& file, CaseInputs& inputs,
                                     std::string_view variant, Stdit2Config const& config) {
    Stdit3Config const& sizes = config;
    OSORA_TRY(auto const read, read_stdit_input(file, inputs, variant, sizes));
    Stdit2Input input{read, {}, {}, {}, {}};
    std::pair<char const*, at::Tensor*> const scalars[] = {{"height", &input.height},
                                                           {"width", &input.width},
                                                           {"ar", &input.ar},
                                                           {"num_frames", &input.num_frames}};
    for (auto const& [name, tensor] : scalars) {
        OSORA_TRY(*tensor, inputs.need(variant, name, number({-1})));
        OSORA_TRY_VOID(check_repeats(*tensor, input.x.size(0), case_name("in", variant, name)));
    }
    if (input.height.size(0) == input.width.size(0)) return input;
    return Error{Errc::invalid_input,
                 fmt::format("{}: {} rows, height has {}", case_name("in", variant, "width"),
                             input.width.size(0), input.height.size(0))};
}

template <class Model, class Config>
CaseResult run_case(CaseFile const& file, Config const& config) {
    CaseInputs inputs(file);
    std::vector<CaseRun> runs;
    std::vector<typename decltype(read_stdit_input(file, inputs, "", config))::value_type> read;
    for (auto const& variant : inputs.variants()) {
        OSORA_TRY(auto input, read_stdit_input(file, inputs, variant, config));
        auto shape = input.x.sizes().vec();
        shape[1] = config.out_channels();
        OSORA_TRY(auto weight, read_loss_weight(file, inputs, variant, shape));
        runs.push_back({variant, std::move(weight), {{"x", input.x}, {"y", input.y}}, {}});
        read.push_back(std::move(input));
    }
    OSORA_TRY_VOID(inputs.finish());
    OSORA_TRY(auto model, load_case_model<Model>(file, config));
    std::vector<NamedTensor> outputs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].forward = [&] { return model.forward(read[i]); };
        append_outputs(file, model.parameters(), runs[i], outputs);
    }
    return outputs;
}

}  // namespace

CaseResult run_stdit3_case(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_stdit3_config(file.config));
    return run_case<Stdit3>(file, config);
}

CaseResult run_stdit2_case(CaseFile const& file) {
    OSORA_TRY(auto const config, parse_stdit2_config(file.config));
    return run_case<Stdit2>(file, config);
}

}  // namespace osora::worker
