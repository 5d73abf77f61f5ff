#include "plan/vae/vae_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

VaePipelineConfig tiny() {
    VaePipelineConfig config;
    config.spatial.block_out_channels = {16, 16, 32, 32};
    config.spatial.layers_per_block = 1;
    config.spatial.norm_num_groups = 4;
    config.temporal.filters = 16;
    config.temporal.num_res_blocks = 1;
    config.temporal.channel_multipliers = {1, 1, 2, 2};
    config.temporal.num_groups = 4;
    return config;
}

}  // namespace

std::int64_t TemporalVaeConfig::factor() const {
    return std::int64_t{1} << std::ranges::count(temporal_downsample, true);
}

Result<VaePipelineConfig> vae_sizes(std::string_view arch) {
    if (arch == "opensora-v1.2") return VaePipelineConfig{};
    if (arch == "tiny") return tiny();
    return Error{Errc::not_found,
                 fmt::format("no autoencoder '{}'; known: opensora-v1.2, tiny", arch)};
}

}  // namespace osora::plan
