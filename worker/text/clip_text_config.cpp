#include "worker/text/clip_text_config.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <array>
#include <string>
#include <utility>

namespace osora::worker {
namespace {

namespace json = boost::json;

struct ClipSize {
    char const* key;
    std::int64_t ClipTextConfig::*member;
};
constexpr std::array kClipSizes{
    ClipSize{"vocab_size", &ClipTextConfig::vocab_size},
    ClipSize{"hidden_size", &ClipTextConfig::hidden_size},
    ClipSize{"intermediate_size", &ClipTextConfig::intermediate_size},
    ClipSize{"num_hidden_layers", &ClipTextConfig::num_hidden_layers},
    ClipSize{"num_attention_heads", &ClipTextConfig::num_attention_heads},
    ClipSize{"max_position_embeddings", &ClipTextConfig::max_position_embeddings},
    ClipSize{"eos_token_id", &ClipTextConfig::eos_token_id}};

Error invalid_clip(std::string message) {
    return Error{Errc::invalid_input, "clip_text: " + std::move(message)};
}

Result<void> read_activation(json::object const& object, ClipTextConfig& config) {
    auto const* value = object.if_contains("hidden_act");
    if (value == nullptr) return {};
    auto const* name = value->if_string();
    bool const quick = name != nullptr && *name == "quick_gelu";
    if (!quick && (name == nullptr || *name != "gelu")) {
        return invalid_clip(
            fmt::format("config: hidden_act is {}; supported are quick_gelu and gelu",
                        json::serialize(*value)));
    }
    config.quick_gelu = quick;
    return {};
}

}  // namespace

Result<ClipTextConfig> parse_clip_text_config(std::string_view text) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid_clip("config: " + failed.message());
    auto const* object = value.if_object();
    if (object == nullptr) return invalid_clip("config: not a JSON object");
    if (auto const* part = object->if_contains("text_config"); part != nullptr) {
        if (!part->is_object()) return invalid_clip("config: text_config: not a JSON object");
        object = part->if_object();
    }
    ClipTextConfig config;
    for (ClipSize const& size : kClipSizes) {
        auto const* field = object->if_contains(size.key);
        if (field == nullptr) continue;
        auto const number = json::try_value_to<std::int64_t>(*field);
        if (!number) return invalid_clip(fmt::format("config: {}: not a whole number", size.key));
        config.*size.member = *number;
    }
    if (auto const* field = object->if_contains("layer_norm_eps")) {
        auto const number = json::try_value_to<double>(*field);
        if (!number) return invalid_clip("config: layer_norm_eps: not a number");
        config.layer_norm_eps = *number;
    }
    OSORA_TRY_VOID(read_activation(*object, config));
    OSORA_TRY_VOID(check_clip_text_config(config));
    return config;
}

Result<void> check_clip_text_config(ClipTextConfig const& config) {
    constexpr std::int64_t kLimit = 1 << 20;  // keeps every product of two sizes far from overflow
    for (ClipSize const& size : kClipSizes) {
        std::int64_t const value = config.*size.member;
        if (value < 1 || value > kLimit) {
            return invalid_clip(
                fmt::format("{} = {}: must be in [1, {}]", size.key, value, kLimit));
        }
    }
    if (config.hidden_size % config.num_attention_heads != 0) {
        return Error{Errc::not_divisible,
                     fmt::format("clip_text: hidden_size {} % num_attention_heads {} != 0",
                                 config.hidden_size, config.num_attention_heads)};
    }
    if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
        return invalid_clip(
            fmt::format("layer_norm_eps = {}: must be in (0, 1)", config.layer_norm_eps));
    }
    return {};
}

}  // namespace osora::worker
