// Sizes of MMDiT (Open-Sora v2.0 "flux", opensora/models/mmdit/model.py); those of the named models
// come from plan/model/model_description. Pure data; a size that cannot work is an Error that names
// the rule.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct MmditConfig {
    std::int64_t in_channels = 64;  // of a packed token: latent channels x patch_size^2
    std::int64_t vec_in_dim = 768;  // pooled CLIP vector
    std::int64_t context_in_dim = 4096;
    std::int64_t hidden_size = 3072;
    double mlp_ratio = 4.0;
    std::int64_t num_heads = 24;
    std::int64_t depth = 19;                           // double blocks
    std::int64_t depth_single_blocks = 38;             // single blocks
    std::array<std::int64_t, 3> axes_dim{16, 56, 56};  // of a head, turned by (t, row, column)
    double theta = 10000;
    bool qkv_bias = true;         // of q, k, v in double blocks
    bool guidance_embed = false;  // guidance_in
    bool cond_embed = false;      // cond_in: image to video
    bool fused_qkv = false;       // one product for q, k and v
    bool use_liger_rope = true;   // RopeLayout::halves; absent in JSON: !fused_qkv
    std::int64_t patch_size = 2;  // latent pixels a side

    [[nodiscard]] std::int64_t head_dim() const { return hidden_size / num_heads; }
    [[nodiscard]] std::int64_t mlp_hidden_size() const {
        return static_cast<std::int64_t>(static_cast<double>(hidden_size) * mlp_ratio);
    }
    /// Of cond: the latent of given frames and a mask of latent pixels.
    [[nodiscard]] std::int64_t cond_channels() const {
        return in_channels + patch_size * patch_size;
    }
    friend bool operator==(MmditConfig const&, MmditConfig const&) = default;
};
BOOST_DESCRIBE_STRUCT(MmditConfig, (),
                      (in_channels, vec_in_dim, context_in_dim, hidden_size, mlp_ratio, num_heads,
                       depth, depth_single_blocks, axes_dim, theta, qkv_bias, guidance_embed,
                       cond_embed, fused_qkv, use_liger_rope, patch_size))

/// For a MMDiT of any size; the only conversion from a run's sizes to the network's.
[[nodiscard]] Result<MmditConfig> mmdit_config(plan::ModelShape const& shape);

/// "mmdit-11b" (text to video), "mmdit-11b-i2v", "mmdit-tiny"; not_found names the known ones.
[[nodiscard]] Result<MmditConfig> mmdit_config(std::string_view arch);
[[nodiscard]] std::vector<std::string> mmdit_names();

/// From JSON with Open-Sora's keys; absent keys keep their defaults, unknown ones are errors.
[[nodiscard]] Result<MmditConfig> parse_mmdit_config(std::string_view json);
[[nodiscard]] std::string to_json(MmditConfig const& config);

/// not_divisible / invalid_input when a size cannot work.
[[nodiscard]] Result<void> check_mmdit_config(MmditConfig const& config);

}  // namespace osora::worker
