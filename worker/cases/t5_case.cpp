#include "worker/cases/t5_case.hpp"

#include "worker/text/t5_files.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

namespace osora::worker {
namespace {

struct Input {
    at::Tensor ids, mask;
};

Error invalid(std::string why) {
    return Error{Errc::invalid_input, "t5: " + std::move(why)};
}

/// The inputs by variant; "": those without one.
Result<std::map<std::string, Input>> inputs_of(CaseFile const& file) {
    std::map<std::string, Input> inputs;
    for (NamedTensor const& entry : file.content.tensors) {
        if (!entry.name.starts_with("in/")) continue;
        auto const slash = entry.name.rfind('/');
        std::string const variant = slash < 3 ? "" : entry.name.substr(3, slash - 3);
        std::string const name = entry.name.substr(slash + 1);
        if (name == "input_ids") {
            inputs[variant].ids = entry.tensor;
        } else if (name == "attention_mask") {
            inputs[variant].mask = entry.tensor;
        } else {
            return invalid(entry.name + " is unknown; known are input_ids and attention_mask");
        }
    }
    if (inputs.empty()) return invalid("in/input_ids is missing");
    return inputs;
}

Result<void> check(std::string const& variant, Input const& input, std::int64_t vocab_size) {
    std::string const at = variant.empty() ? "in/" : "in/" + variant + "/";
    if (!input.ids.defined()) return invalid(at + "input_ids is missing");
    bool const shaped = input.ids.dim() == 2 && input.ids.numel() > 0;
    if (input.ids.scalar_type() != at::kLong || !shaped) {
        return invalid(at + "input_ids must be int64 (B, L)");
    }
    auto const low = input.ids.min().item<std::int64_t>();
    auto const high = input.ids.max().item<std::int64_t>();
    if (low < 0 || high >= vocab_size) {
        return invalid(fmt::format("{}input_ids has {}; ids are in [0, {})", at,
                                   low < 0 ? low : high, vocab_size));
    }
    if (input.mask.defined() && input.mask.sizes() != input.ids.sizes()) {
        return invalid(at + "attention_mask must have the shape of input_ids");
    }
    return {};
}

}  // namespace

CaseResult run_t5(CaseFile const& file) {
    if (file.train_step) return invalid("the encoder is never trained: no train step");
    OSORA_TRY(T5Config const config, parse_t5_config(file.config));
    OSORA_TRY(auto const inputs, inputs_of(file));
    std::vector<NamedTensor> weights;
    for (NamedTensor const& entry : file.content.tensors) {
        if (!entry.name.starts_with("weights/")) continue;
        weights.push_back(entry);
        weights.back().name.erase(0, std::string_view("weights/").size());
    }
    for (auto const& [variant, input] : inputs) {
        OSORA_TRY_VOID(check(variant, input, config.vocab_size));
    }
    if (weights.empty()) return invalid("weights/ is missing");
    T5Encoder encoder(config, weights.front().tensor.options());
    auto loaded = encoder.parameters().load(t5_encoder_tensors(weights));
    if (loaded.has_error()) return std::move(loaded).error().in("t5");
    std::vector<NamedTensor> outputs;
    for (auto const& [variant, input] : inputs) {
        std::string const at = variant.empty() ? "out/" : "out/" + variant + "/";
        outputs.push_back({at + "last_hidden_state", encoder(input.ids, input.mask)});
    }
    return outputs;
}

}  // namespace osora::worker
