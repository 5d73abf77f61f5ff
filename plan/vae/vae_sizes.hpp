// Sizes of the video autoencoder of Open-Sora v1.2: the 2-D AutoencoderKL (diffusers 0.29.2), the
// temporal VAE (opensora/models/vae/vae_temporal.py) and the pipeline of both (vae.py). The
// defaults are the published model. Pure data, and the only definition of named sizes.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace osora::plan {

/// AutoencoderKL: each level but the last halves height and width.
struct SpatialVaeConfig {
    std::int64_t in_channels = 3;
    std::int64_t out_channels = 3;
    std::vector<std::int64_t> block_out_channels{128, 256, 512, 512};
    std::int64_t layers_per_block = 2;  // ResNet blocks per level; the decoder has one more
    std::int64_t latent_channels = 4;
    std::int64_t norm_num_groups = 32;

    [[nodiscard]] std::int64_t factor() const {  // pixels a latent, per side
        return std::int64_t{1} << (block_out_channels.size() - 1);
    }
    friend bool operator==(SpatialVaeConfig const&, SpatialVaeConfig const&) = default;
};

/// VAE_Temporal: `temporal_downsample` says which levels halve the frames.
struct TemporalVaeConfig {
    std::int64_t in_out_channels = 4;  // of the 2-D latents
    std::int64_t latent_embed_dim = 4;
    std::int64_t embed_dim = 4;  // of the final latents
    std::int64_t filters = 128;
    std::int64_t num_res_blocks = 4;
    std::vector<std::int64_t> channel_multipliers{1, 2, 2, 4};
    std::vector<bool> temporal_downsample{false, true, true};  // one less than the levels
    std::int64_t num_groups = 32;

    [[nodiscard]] std::int64_t factor() const;  // frames a latent
    friend bool operator==(TemporalVaeConfig const&, TemporalVaeConfig const&) = default;
};

/// The whole. 0 means null for both micro sizes: everything at once.
struct VaePipelineConfig {
    SpatialVaeConfig spatial;
    TemporalVaeConfig temporal;
    std::int64_t micro_batch_size = 4;   // frames that the 2-D VAE processes at a time
    std::int64_t micro_frame_size = 17;  // frames that the temporal VAE processes at a time
    double z_scale_2d = 0.18215;
    bool freeze_vae_2d = false;             // its parameters get no gradient
    std::int64_t tile_sample_min_size = 0;  // larger frames are split into tiles of this side; 0:
                                            // never
    double tile_overlap_factor = 0.25;
    friend bool operator==(VaePipelineConfig const&, VaePipelineConfig const&) = default;
};

/// "opensora-v1.2": the published model. "tiny": the same blocks and the same compression (4 frames
/// and 8 x 8 pixels a latent, 4 channels), 16 to 32 wide, for tests and demonstrations. not_found
/// lists both.
[[nodiscard]] Result<VaePipelineConfig> vae_sizes(std::string_view arch);

}  // namespace osora::plan
