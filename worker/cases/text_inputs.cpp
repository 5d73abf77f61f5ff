#include "worker/cases/text_inputs.hpp"

#include "worker/cases/model_case.hpp"

#include <fmt/format.h>

#include <map>

namespace osora::worker {
namespace {

Error invalid(std::string_view component, std::string const& why) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", component, why)};
}

/// What is wrong with it; empty: nothing.
std::string fault_of(TextInput const& input, std::string const& at, TextLimits const& limits) {
    if (!input.ids.defined()) return at + "input_ids is missing";
    bool const shaped = input.ids.dim() == 2 && input.ids.numel() > 0;
    if (input.ids.scalar_type() != at::kLong || !shaped) {
        return at + "input_ids must be int64 (B, L)";
    }
    if (input.ids.size(1) > limits.length_max) {
        return fmt::format("{}input_ids has {} tokens; at most {}", at, input.ids.size(1),
                           limits.length_max);
    }
    auto const low = input.ids.min().item<std::int64_t>();
    auto const high = input.ids.max().item<std::int64_t>();
    if (low < 0 || high >= limits.vocab_size) {
        return fmt::format("{}input_ids has {}; ids are in [0, {})", at, low < 0 ? low : high,
                           limits.vocab_size);
    }
    if (input.mask.defined() && input.mask.sizes() != input.ids.sizes()) {
        return at + "attention_mask must have the shape of input_ids";
    }
    return {};
}

}  // namespace

Result<TextCase> text_case(CaseFile const& file, std::string_view component,
                           TextLimits const& limits) {
    if (file.train_step) return invalid(component, "it is never trained: no train step");
    TextCase found{.inputs = {}, .weights = case_weights(file)};
    std::map<std::string, TextInput> inputs;  // by "in/" or "in/VARIANT/"
    for (NamedTensor const& entry : file.content.tensors) {
        std::string_view const name = entry.name;
        if (!name.starts_with("in/")) continue;
        auto const end = name.rfind('/') + 1;
        TextInput& input = inputs[std::string(name.substr(0, end))];
        if (name.substr(end) == "input_ids") {
            input.ids = entry.tensor;
        } else if (name.substr(end) == "attention_mask") {
            input.mask = entry.tensor;
        } else {
            return invalid(component, fmt::format("{} is unknown; known are input_ids and "
                                                  "attention_mask",
                                                  name));
        }
    }
    if (inputs.empty()) return invalid(component, "in/input_ids is missing");
    if (found.weights.empty()) return invalid(component, "weights/ is missing");
    for (auto& [at, input] : inputs) {
        if (auto const fault = fault_of(input, at, limits); !fault.empty()) {
            return invalid(component, fault);
        }
        input.out = "out/" + at.substr(3);
        found.inputs.push_back(input);
    }
    return found;
}

}  // namespace osora::worker
