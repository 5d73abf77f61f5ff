#include "worker/model/stdit3_config.hpp"

#include "plan/model_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

Stdit3Config config_of(plan::ModelShape const& shape) {
    Stdit3Config config;
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
    return config;
}

namespace json = boost::json;

template <class T>
bool read(json::value const& value, T& out) {
    auto const got = json::try_value_to<T>(value);
    if (got) out = *got;
    return got.has_value();
}

using Reader = std::function<bool(json::value const&, Stdit3Config&)>;

template <class T>
Reader reader(T Stdit3Config::*member) {
    return [member](json::value const& value, Stdit3Config& config) {
        return read(value, config.*member);
    };
}

std::map<std::string, Reader, std::less<>> readers() {
    return {{"in_channels", reader(&Stdit3Config::in_channels)},
            {"patch_size", reader(&Stdit3Config::patch_size)},
            {"hidden_size", reader(&Stdit3Config::hidden_size)},
            {"depth", reader(&Stdit3Config::depth)},
            {"num_heads", reader(&Stdit3Config::num_heads)},
            {"mlp_ratio", reader(&Stdit3Config::mlp_ratio)},
            {"caption_channels", reader(&Stdit3Config::caption_channels)},
            {"model_max_length", reader(&Stdit3Config::model_max_length)},
            {"class_dropout_prob", reader(&Stdit3Config::class_dropout_prob)},
            {"input_sq_size", reader(&Stdit3Config::input_sq_size)},
            {"qk_norm", reader(&Stdit3Config::qk_norm)},
            {"pred_sigma", reader(&Stdit3Config::pred_sigma)}};
}

Error invalid(std::string message) {
    return Error{Errc::invalid_input, "stdit3: " + std::move(message)};
}

}  // namespace

std::vector<std::string> stdit3_names() {
    std::vector<std::string> names;
    for (std::string& name : plan::model_names()) {
        auto const shape = plan::model_shape(name);
        if (shape.has_value() && shape->family == plan::ModelFamily::stdit3) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

Result<Stdit3Config> stdit3_config(std::string_view arch) {
    auto const shape = plan::model_shape(arch);
    if (shape.has_value() && shape->family == plan::ModelFamily::stdit3) return config_of(*shape);
    return Error{Errc::not_found, fmt::format("model.arch '{}': not a STDiT3; known: {}", arch,
                                              fmt::join(stdit3_names(), ", "))};
}

Result<Stdit3Config> parse_stdit3_config(std::string_view text) {
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);
    if (failed) return invalid("config: " + failed.message());
    auto const* object = value.if_object();
    if (object == nullptr) return invalid("config: not a JSON object");
    auto const known = readers();
    Stdit3Config config;
    for (auto const& [key, field] : *object) {
        auto const found = known.find(std::string_view(key));
        if (found == known.end())
            return invalid(fmt::format("config: unknown key '{}'", std::string_view(key)));
        if (!found->second(field, config))
            return invalid(fmt::format("config: {}: wrong type or out of range", found->first));
    }
    OSORA_TRY_VOID(check_stdit3_config(config));
    return config;
}

Result<void> check_stdit3_config(Stdit3Config const& config) {
    constexpr std::int64_t kLimit = 1 << 20;  // keeps every product of two sizes far from overflow
    std::pair<char const*, std::int64_t> const sizes[] = {
        {"in_channels", config.in_channels},
        {"patch_size[0]", config.patch_size[0]},
        {"patch_size[1]", config.patch_size[1]},
        {"patch_size[2]", config.patch_size[2]},
        {"hidden_size", config.hidden_size},
        {"depth", config.depth},
        {"num_heads", config.num_heads},
        {"caption_channels", config.caption_channels},
        {"model_max_length", config.model_max_length},
        {"input_sq_size", config.input_sq_size}};
    for (auto const& [name, value] : sizes)
        if (value < 1 || value > kLimit)
            return invalid(fmt::format("{} = {}: must be in [1, {}]", name, value, kLimit));
    if (!(config.mlp_ratio > 0 && config.mlp_ratio <= 64))
        return invalid(fmt::format("mlp_ratio = {}: must be in (0, 64]", config.mlp_ratio));
    if (config.hidden_size % config.num_heads != 0)
        return Error{Errc::not_divisible, fmt::format("stdit3: hidden_size {} % num_heads {} != 0",
                                                      config.hidden_size, config.num_heads)};
    if (config.hidden_size % 4 != 0 || config.head_dim() % 2 != 0)
        return Error{Errc::not_divisible,
                     fmt::format("stdit3: hidden_size {} must divide by 4, head_dim {} by 2",
                                 config.hidden_size, config.head_dim())};
    return {};
}

}  // namespace osora::worker
