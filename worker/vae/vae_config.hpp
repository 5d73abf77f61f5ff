// Sizes of the video autoencoder (plan/vae/vae_sizes.hpp) read from JSON and checked. Pure; a size
// that cannot work is an Error that names the rule.
#pragma once

#include "base/result.hpp"
#include "plan/vae/vae_sizes.hpp"

#include <string_view>

namespace osora::worker {

using plan::SpatialVaeConfig;
using plan::TemporalVaeConfig;
using plan::VaePipelineConfig;

/// From JSON with the keys of diffusers and Open-Sora (metadata "config" of a case); absent keys
/// keep their defaults, unknown ones are errors.
[[nodiscard]] Result<SpatialVaeConfig> parse_spatial_vae_config(std::string_view json);
[[nodiscard]] Result<TemporalVaeConfig> parse_temporal_vae_config(std::string_view json);
[[nodiscard]] Result<VaePipelineConfig> parse_vae_pipeline_config(std::string_view json);

/// not_divisible / invalid_input when a size cannot work.
[[nodiscard]] Result<void> check_vae_config(SpatialVaeConfig const& config);
[[nodiscard]] Result<void> check_vae_config(TemporalVaeConfig const& config);
[[nodiscard]] Result<void> check_vae_config(VaePipelineConfig const& config);

}  // namespace osora::worker
