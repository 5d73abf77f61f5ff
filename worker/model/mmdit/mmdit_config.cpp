#include "worker/model/mmdit/mmdit_config.hpp"

#include "worker/model/weights/config_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace osora::worker {
namespace {

/// Keys of Open-Sora's MMDiTConfig for the source of weights or for saving memory.
constexpr std::string_view kMmditUnread[] = {"model_type", "type", "from_pretrained", "cache_dir",
                                             "grad_ckpt_settings"};

Error invalid_mmdit(std::string message) {
    return Error{Errc::invalid_input, "mmdit: " + std::move(message)};
}

MmditConfig mmdit_config_of(plan::ModelShape const& shape) {
    MmditConfig config;
    config.in_channels = std::int64_t{shape.in_channels} * shape.patch_volume();
    config.patch_size = shape.patch_size[1];
    config.vec_in_dim = shape.pooled_channels;
    config.context_in_dim = shape.caption_channels;
    config.hidden_size = shape.hidden;
    config.mlp_ratio = shape.mlp_ratio;
    config.num_heads = shape.heads;
    config.depth = shape.depth;
    config.depth_single_blocks = shape.single_depth;
    std::ranges::copy(shape.rope_axes(), config.axes_dim.begin());
    return config;
}

MmditConfig tiny() {
    return mmdit_config_of(plan::model_shape("mmdit-tiny").value());
}

MmditConfig eleven_billion() {
    return mmdit_config_of(plan::model_shape("mmdit-11b").value());
}

MmditConfig image_to_video() {
    MmditConfig config = eleven_billion();
    config.cond_embed = true;
    return config;
}

struct Named {
    std::string_view arch;
    MmditConfig (*config)();
};
constexpr Named kNamed[] = {
    {"mmdit-tiny", tiny}, {"mmdit-11b", eleven_billion}, {"mmdit-11b-i2v", image_to_video}};

}  // namespace

std::vector<std::string> mmdit_names() {
    std::vector<std::string> names;
    for (Named const& row : kNamed) names.emplace_back(row.arch);
    return names;
}

Result<MmditConfig> mmdit_config(plan::ModelShape const& shape) {
    if (shape.family != plan::ModelFamily::mmdit) {
        return Error{Errc::invalid_input, fmt::format("model.arch '{}': not an MMDiT", shape.arch)};
    }
    MmditConfig const config = mmdit_config_of(shape);
    OSORA_TRY_VOID(check_mmdit_config(config));
    return config;
}

Result<MmditConfig> mmdit_config(std::string_view arch) {
    for (Named const& row : kNamed)
        if (row.arch == arch) return row.config();
    return Error{Errc::not_found, fmt::format("model.arch '{}': not an MMDiT; known: {}", arch,
                                              fmt::join(mmdit_names(), ", "))};
}

Result<MmditConfig> parse_mmdit_config(std::string_view text) {
    auto read = read_config(text, MmditConfig{}, kMmditUnread);
    if (read.has_error()) return std::move(read).error().in("mmdit");
    auto const object = boost::json::parse(text);
    if (!object.as_object().contains("use_liger_rope")) read->use_liger_rope = !read->fused_qkv;
    OSORA_TRY_VOID(check_mmdit_config(*read));
    return read;
}

std::string to_json(MmditConfig const& config) {
    return config_json(config);
}

Result<void> check_mmdit_config(MmditConfig const& config) {
    constexpr std::int64_t kLimit = 1 << 20;  // keeps the sizes of all tensors far from overflow
    constexpr std::int64_t kDepthLimit = 1024;
    struct Size {
        char const* name;
        std::int64_t value, min, max;
    };
    Size const sizes[] = {{"in_channels", config.in_channels, 1, kLimit},
                          {"vec_in_dim", config.vec_in_dim, 1, kLimit},
                          {"context_in_dim", config.context_in_dim, 1, kLimit},
                          {"hidden_size", config.hidden_size, 1, kLimit},
                          {"num_heads", config.num_heads, 1, kLimit},
                          {"depth", config.depth, 0, kDepthLimit},
                          {"depth_single_blocks", config.depth_single_blocks, 0, kDepthLimit},
                          {"axes_dim[0]", config.axes_dim[0], 0, kLimit},
                          {"axes_dim[1]", config.axes_dim[1], 0, kLimit},
                          {"axes_dim[2]", config.axes_dim[2], 0, kLimit},
                          {"patch_size", config.patch_size, 1, 64}};
    for (auto const& [name, value, min, max] : sizes)
        if (value < min || value > max)
            return invalid_mmdit(
                fmt::format("{} = {}: must be in [{}, {}]", name, value, min, max));
    if (!(config.mlp_ratio > 0 && config.mlp_ratio <= 64))
        return invalid_mmdit(fmt::format("mlp_ratio = {}: must be in (0, 64]", config.mlp_ratio));
    if (!(config.theta > 1 && config.theta <= 1e12))
        return invalid_mmdit(fmt::format("theta = {}: must be in (1, 1e12]", config.theta));
    if (config.hidden_size % config.num_heads != 0)
        return Error{Errc::not_divisible, fmt::format("mmdit: hidden_size {} % num_heads {} != 0",
                                                      config.hidden_size, config.num_heads)};
    for (std::int64_t const dim : config.axes_dim)
        if (dim % 2 != 0)
            return Error{Errc::not_divisible, fmt::format("mmdit: axes_dim {} must be even", dim)};
    std::int64_t const axes =
        std::accumulate(config.axes_dim.begin(), config.axes_dim.end(), std::int64_t{0});
    if (axes != config.head_dim())
        return invalid_mmdit(fmt::format("axes_dim [{}] sum to {}, a head has {}",
                                         fmt::join(config.axes_dim, ","), axes, config.head_dim()));
    return {};
}

}  // namespace osora::worker
