#include "worker/text/t5_config.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <array>
#include <string>
#include <utility>

namespace osora::worker {
namespace {

namespace json = boost::json;

struct T5Size {
    char const* key;
    std::int64_t T5Config::*member;
    bool must_be_given;
};
constexpr std::array kT5Sizes{
    T5Size{"vocab_size", &T5Config::vocab_size, true},
    T5Size{"d_model", &T5Config::d_model, true},
    T5Size{"d_kv", &T5Config::d_kv, true},
    T5Size{"d_ff", &T5Config::d_ff, true},
    T5Size{"num_layers", &T5Config::num_layers, true},
    T5Size{"num_heads", &T5Config::num_heads, true},
    T5Size{"relative_attention_num_buckets", &T5Config::relative_attention_num_buckets, false},
    T5Size{"relative_attention_max_distance", &T5Config::relative_attention_max_distance, false}};

Error invalid_t5(std::string message) {
    return Error{Errc::invalid_input, "t5: " + std::move(message)};
}

/// `key`, if given, must be the text `wanted`.
Result<void> require(json::object const& object, char const* key, std::string_view wanted,
                     bool must_be_given) {
    auto const* value = object.if_contains(key);
    if (value == nullptr && !must_be_given) return {};
    if (value != nullptr && value->is_string() && value->get_string() == wanted) return {};
    std::string const given = value == nullptr ? "not given" : json::serialize(*value);
    return invalid_t5(
        fmt::format("config: {} is {}; only \"{}\" is supported", key, given, wanted));
}

}  // namespace

Result<T5Config> parse_t5_config(std::string_view text) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid_t5("config: " + failed.message());
    auto const* object = value.if_object();
    if (object == nullptr) return invalid_t5("config: not a JSON object");
    OSORA_TRY_VOID(require(*object, "model_type", "t5", false));
    // Absent in a config.json, it means the ReLU of T5 v1.0.
    OSORA_TRY_VOID(require(*object, "feed_forward_proj", "gated-gelu", true));
    T5Config config;
    for (T5Size const& size : kT5Sizes) {
        auto const* field = object->if_contains(size.key);
        if (field == nullptr && !size.must_be_given) continue;
        if (field == nullptr) return invalid_t5(fmt::format("config: {} is not given", size.key));
        auto const number = json::try_value_to<std::int64_t>(*field);
        if (!number) return invalid_t5(fmt::format("config: {}: not a whole number", size.key));
        config.*size.member = *number;
    }
    if (auto const* field = object->if_contains("layer_norm_epsilon")) {
        auto const number = json::try_value_to<double>(*field);
        if (!number) return invalid_t5("config: layer_norm_epsilon: not a number");
        config.layer_norm_epsilon = *number;
    }
    OSORA_TRY_VOID(check_t5_config(config));
    return config;
}

Result<void> check_t5_config(T5Config const& config) {
    constexpr std::int64_t kLimit = 1 << 20;  // keeps every product of two sizes far from overflow
    for (T5Size const& size : kT5Sizes) {
        std::int64_t const value = config.*size.member;
        if (value < 1 || value > kLimit) {
            return invalid_t5(fmt::format("{} = {}: must be in [1, {}]", size.key, value, kLimit));
        }
    }
    // Half of the buckets for each direction, half of those for single distances.
    std::int64_t const buckets = config.relative_attention_num_buckets;
    if (buckets % 4 != 0) {
        return invalid_t5(
            fmt::format("relative_attention_num_buckets = {}: must divide by 4", buckets));
    }
    if (config.relative_attention_max_distance <= buckets / 4) {
        return invalid_t5(fmt::format("relative_attention_max_distance = {}: must be above {}",
                                      config.relative_attention_max_distance, buckets / 4));
    }
    if (!(config.layer_norm_epsilon > 0 && config.layer_norm_epsilon < 1)) {
        return invalid_t5(
            fmt::format("layer_norm_epsilon = {}: must be in (0, 1)", config.layer_norm_epsilon));
    }
    return {};
}

}  // namespace osora::worker
