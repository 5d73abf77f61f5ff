// Sizes of STDiT3 (Open-Sora v1.2, opensora/models/stdit/stdit3.py); those of the named models are
// in plan/model/model_description. Pure data; an impossible size is an Error that names the rule.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct Stdit3Config {
    std::int64_t in_channels = 4;                     // of a latent; 3 in pixel space
    std::array<std::int64_t, 3> patch_size{1, 2, 2};  // (T, H, W)
    std::int64_t hidden_size = 1152;
    std::int64_t depth = 28;  // spatial + temporal block pairs
    std::int64_t num_heads = 16;
    double mlp_ratio = 4.0;
    std::int64_t caption_channels = 4096;
    std::int64_t model_max_length = 300;  // text tokens
    double class_dropout_prob = 0.1;      // share of captions the trainer replaces by the null one
    std::int64_t input_sq_size = 512;     // pixels; side at which positions have scale 1
    bool qk_norm = true;
    bool pred_sigma = true;  // twice the output channels; the loss reads the first half

    [[nodiscard]] std::int64_t head_dim() const { return hidden_size / num_heads; }
    [[nodiscard]] std::int64_t mlp_hidden_size() const {
        return static_cast<std::int64_t>(static_cast<double>(hidden_size) * mlp_ratio);
    }
    [[nodiscard]] std::int64_t out_channels() const { return in_channels * (pred_sigma ? 2 : 1); }
    [[nodiscard]] std::int64_t patch_volume() const {
        return patch_size[0] * patch_size[1] * patch_size[2];
    }
    friend bool operator==(Stdit3Config const&, Stdit3Config const&) = default;
};
BOOST_DESCRIBE_STRUCT(Stdit3Config, (),
                      (in_channels, patch_size, hidden_size, depth, num_heads, mlp_ratio,
                       caption_channels, model_max_length, class_dropout_prob, input_sq_size,
                       qk_norm, pred_sigma))

/// For a STDiT3 of any size; the only conversion from a run's sizes to the network's.
[[nodiscard]] Result<Stdit3Config> stdit3_config(plan::ModelShape const& shape);

/// "stdit3-xl/2", "stdit3-3b/2", "stdit3-tiny" (pixel space); not_found names the known ones.
[[nodiscard]] Result<Stdit3Config> stdit3_config(std::string_view arch);
[[nodiscard]] std::vector<std::string> stdit3_names();

/// From JSON with Open-Sora's keys (metadata "config" of a safetensors case); absent keys keep
/// their defaults, unknown ones are errors.
[[nodiscard]] Result<Stdit3Config> parse_stdit3_config(std::string_view json);
[[nodiscard]] std::string to_json(Stdit3Config const& config);

/// not_divisible / invalid_input when a size cannot work; `network` begins the message.
[[nodiscard]] Result<void> check_stdit3_config(Stdit3Config const& config,
                                               std::string_view network = "stdit3");

/// For STDiT2, which has these sizes too.
void take_sizes(plan::ModelShape const& shape, Stdit3Config& config);
[[nodiscard]] std::vector<std::string> names_of(plan::ModelFamily family);
/// Keys in configurations of Open-Sora and transformers that do not affect any result here.
[[nodiscard]] std::span<std::string_view const> unread_stdit_keys();
/// Those of them that would if enabled.
[[nodiscard]] Result<void> check_off(std::string_view json, std::string_view network);

}  // namespace osora::worker
