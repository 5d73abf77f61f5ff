#include "worker/model/stdit/stdit3_config.hpp"

#include "worker/model/weights/config_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace osora::worker {
namespace {

constexpr std::string_view kStdit3Unread[] = {"model_type",
                                              "type",
                                              "architectures",
                                              "auto_map",
                                              "torch_dtype",
                                              "transformers_version",
                                              "_name_or_path",
                                              "from_pretrained",
                                              "force_huggingface",
                                              "input_size",
                                              "drop_path",
                                              "enable_flash_attn",
                                              "enable_layernorm_kernel",
                                              "enable_sequence_parallelism",
                                              "only_train_temporal",
                                              "freeze_y_embedder",
                                              "skip_y_embedder",
                                              "no_temporal_pos_emb",
                                              "freeze"};

constexpr std::string_view kOffOnly[] = {"drop_path", "skip_y_embedder"};

Stdit3Config stdit3_config_of(plan::ModelShape const& shape) {
    Stdit3Config config;
    take_sizes(shape, config);
    return config;
}

}  // namespace

void take_sizes(plan::ModelShape const& shape, Stdit3Config& config) {
    config.in_channels = shape.in_channels;
    std::ranges::copy(shape.patch_size, config.patch_size.begin());
    config.hidden_size = shape.hidden;
    config.depth = shape.depth;
    config.num_heads = shape.heads;
    config.mlp_ratio = shape.mlp_ratio;
    config.caption_channels = shape.caption_channels;
    config.model_max_length = shape.text_tokens;
    config.input_sq_size = shape.input_sq_size;
    config.pred_sigma = shape.pred_sigma;
}

std::vector<std::string> names_of(plan::ModelFamily family) {
    std::vector<std::string> names;
    for (std::string& name : plan::model_names()) {
        auto const shape = plan::model_shape(name);
        if (shape.has_value() && shape->family == family) names.push_back(std::move(name));
    }
    return names;
}

std::span<std::string_view const> unread_stdit_keys() {
    return kStdit3Unread;
}

Result<void> check_off(std::string_view text, std::string_view network) {
    auto const object = boost::json::parse(text).as_object();
    for (std::string_view const key : kOffOnly) {
        auto const* value = object.if_contains(key);
        if (value != nullptr && *value != false && *value != 0 && *value != 0.0)
            return Error{Errc::invalid_input,
                         fmt::format("{}: config: {} = {}: only off is supported", network, key,
                                     boost::json::serialize(*value))};
    }
    return {};
}

std::vector<std::string> stdit3_names() {
    return names_of(plan::ModelFamily::stdit3);
}

Result<Stdit3Config> stdit3_config(plan::ModelShape const& shape) {
    if (shape.family != plan::ModelFamily::stdit3) {
        return Error{Errc::invalid_input, fmt::format("model.arch '{}': not a STDiT3", shape.arch)};
    }
    Stdit3Config const config = stdit3_config_of(shape);
    OSORA_TRY_VOID(check_stdit3_config(config));
    return config;
}

Result<Stdit3Config> stdit3_config(std::string_view arch) {
    auto const shape = plan::model_shape(arch);
    if (shape.has_value() && shape->family == plan::ModelFamily::stdit3)
        return stdit3_config_of(*shape);
    return Error{Errc::not_found, fmt::format("model.arch '{}': not a STDiT3; known: {}", arch,
                                              fmt::join(stdit3_names(), ", "))};
}

Result<Stdit3Config> parse_stdit3_config(std::string_view text) {
    auto read = read_config(text, Stdit3Config{}, kStdit3Unread);
    if (read.has_error()) return std::move(read).error().in("stdit3");
    OSORA_TRY_VOID(check_off(text, "stdit3"));
    OSORA_TRY_VOID(check_stdit3_config(*read));
    return read;
}

std::string to_json(Stdit3Config const& config) {
    return config_json(config);
}

Result<void> check_stdit3_config(Stdit3Config const& config, std::string_view network) {
    auto const invalid = [&](std::string const& message) {
        return Error{Errc::invalid_input, fmt::format("{}: {}", network, message)};
    };
    constexpr std::int64_t kLimit = 1 << 20;  // keeps the sizes of all tensors far from overflow
    std::pair<char const*, std::int64_t> const sizes[] = {
        {"in_channels", config.in_channels},
        {"hidden_size", config.hidden_size},
        {"num_heads", config.num_heads},
        {"caption_channels", config.caption_channels},
        {"model_max_length", config.model_max_length},
        {"input_sq_size", config.input_sq_size}};
    for (auto const& [name, value] : sizes)
        if (value < 1 || value > kLimit)
            return invalid(fmt::format("{} = {}: must be in [1, {}]", name, value, kLimit));
    for (std::int64_t const size : config.patch_size)
        if (size < 1 || size > 64)
            return invalid(fmt::format("patch_size {}: must be in [1, 64]", size));
    if (config.depth < 1 || config.depth > 1024)
        return invalid(fmt::format("depth = {}: must be in [1, 1024]", config.depth));
    if (!(config.mlp_ratio > 0 && config.mlp_ratio <= 64))
        return invalid(fmt::format("mlp_ratio = {}: must be in (0, 64]", config.mlp_ratio));
    if (config.hidden_size % config.num_heads != 0)
        return Error{Errc::not_divisible,
                     fmt::format("{}: hidden_size {} % num_heads {} != 0", network,
                                 config.hidden_size, config.num_heads)};
    if (config.hidden_size % 4 != 0 || config.head_dim() % 2 != 0)
        return Error{Errc::not_divisible,
                     fmt::format("{}: hidden_size {} must divide by 4, head_dim {} by 2", network,
                                 config.hidden_size, config.head_dim())};
    return {};
}

}  // namespace osora::worker
