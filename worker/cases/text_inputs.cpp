#include "worker/cases/text_inputs.hpp"

#include <fmt/format.h>

namespace osora::worker {
namespace {

Result<void> check_ids(at::Tensor const& ids, std::string const& name, TextLimits const& limits) {
    if (ids.scalar_type() != at::kLong) return invalid(name + ": its type must be I64");
    if (ids.size(1) > limits.length_max) {
        return invalid(
            fmt::format("{} has {} tokens; at most {}", name, ids.size(1), limits.length_max));
    }
    auto const low = ids.min().item<std::int64_t>();
    auto const high = ids.max().item<std::int64_t>();
    if (low >= 0 && high < limits.vocab_size) return {};
    return invalid(fmt::format("{} has {}; ids are in [0, {})", name, low < 0 ? low : high,
                               limits.vocab_size));
}

Result<std::vector<TextInput>> read(CaseFile const& file, TextLimits const& limits) {
    if (file.train_step) return invalid("it is never trained: no train step");
    CaseInputs inputs(file);
    std::vector<TextInput> found;
    for (std::string const& variant : inputs.variants()) {
        TextInput input{.variant = variant, .ids = {}, .mask = {}};
        OSORA_TRY(input.ids, inputs.need(variant, "input_ids", whole({-1, -1})));
        OSORA_TRY_VOID(check_ids(input.ids, case_name("in", variant, "input_ids"), limits));
        OSORA_TRY(input.mask,
                  inputs.maybe(variant, "attention_mask", number(input.ids.sizes().vec())));
        found.push_back(std::move(input));
    }
    OSORA_TRY_VOID(inputs.finish());
    return found;
}

}  // namespace

Result<std::vector<TextInput>> read_text_inputs(CaseFile const& file, std::string_view component,
                                                TextLimits const& limits) {
    auto found = read(file, limits);
    if (found.has_error()) return std::move(found).error().in(std::string(component));
    return found;
}

}  // namespace osora::worker
