#include "plan/vae/vae_memory.hpp"

#include "plan/vae/vae_chunks.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

/// Walks through the layers, and records the worst of them and what all keep for backward.
struct SpatialWalk {
    std::int64_t frames, height, width;
    std::int64_t worst = 0, kept = 0;

    [[nodiscard]] std::int64_t pixels() const { return frames * height * width; }
    void see(std::int64_t numbers) { worst = std::max(worst, numbers); }
    void conv(std::int64_t in, std::int64_t out) {
        see(pixels() * (in + out + std::max(in, out)));
        kept += pixels() * out;
    }
    /// Kept: both norms, both activations, the first convolution's output, the sum.
    void blocks(std::int64_t in, std::int64_t out, std::int64_t count) {
        see(pixels() * (in + out + 2 * std::max(in, out)));
        if (count > 1) see(pixels() * 4 * out);
        kept += pixels() * (2 * in + 4 * out + (count - 1) * 6 * out);
    }
    void attention(std::int64_t width_of_layer) {
        blocks(width_of_layer, width_of_layer, 2);
        see(pixels() * 7 * width_of_layer);
        kept += pixels() * 7 * width_of_layer;
    }
    /// The last norm, its activation, the convolution's output.
    void end(std::int64_t in, std::int64_t out) { kept += pixels() * (2 * in + out); }
    void halve(std::int64_t channels) {
        std::int64_t const padded = frames * (height + 1) * (width + 1);
        see(channels * (pixels() + padded));
        height /= 2;
        width /= 2;
        see(channels * (pixels() + 2 * padded));
        kept += channels * (pixels() + padded);
    }
    void twice(std::int64_t channels) {
        height *= 2;
        width *= 2;
        conv(channels, channels);
        kept += pixels() * channels;
    }
};

struct TemporalWalk {
    std::int64_t clips, frames, area;
    std::int64_t worst = 0, kept = 0;

    [[nodiscard]] std::int64_t pixels() const { return clips * frames * area; }
    [[nodiscard]] std::int64_t padded(std::int64_t in_front) const {
        return clips * (frames + in_front) * area;
    }
    void see(std::int64_t numbers) { worst = std::max(worst, numbers); }
    void conv(std::int64_t in, std::int64_t out) {
        see(padded(2) * (in + std::max(in, out)) + pixels() * std::max(in, out));
        kept += padded(2) * in + pixels() * out;
    }
    /// Kept: both norms, both padded activations, the first convolution's output, the sum.
    void blocks(std::int64_t in, std::int64_t out, std::int64_t count) {
        std::int64_t const wide = std::max(in, out);
        see(pixels() * (in + wide) + padded(2) * 2 * wide);
        if (count > 1) see(pixels() * 2 * out + padded(2) * 2 * out);
        kept += pixels() * (in + 3 * out) + padded(2) * (in + out) +
                (count - 1) * (pixels() * 4 * out + padded(2) * 2 * out);
    }
    void halve(std::int64_t channels) {
        see((2 * padded(1) + pixels() / 2) * channels);
        kept += (padded(1) + pixels() / 2) * channels;
        frames /= 2;
    }
    void end(std::int64_t in, std::int64_t out) { kept += pixels() * (2 * in + out); }
    void twice(std::int64_t channels) {
        conv(channels, 2 * channels);
        see(pixels() * 4 * channels);  // before and after depth to time
        kept += pixels() * 2 * channels;
        frames *= 2;
    }
};

TemporalWalk walk_of(TemporalVaeConfig const& config, VaeClip const& clip) {
    std::int64_t const padding = front_padding(clip.frames, config.factor());
    return {clip.clips, clip.frames + padding, clip.height * clip.width};
}

}  // namespace

LayerMemory spatial_encode_memory(SpatialVaeConfig const& config, VaeClip const& clip) {
    SpatialWalk walk{clip.clips * clip.frames, clip.height, clip.width};
    auto const& widths = config.block_out_channels;
    walk.conv(config.in_channels, widths[0]);
    for (std::size_t i = 0; i < widths.size(); ++i) {
        walk.blocks(widths[i == 0 ? 0 : i - 1], widths[i], config.layers_per_block);
        if (i + 1 < widths.size()) walk.halve(widths[i]);
    }
    walk.attention(widths.back());
    walk.end(widths.back(), 4 * config.latent_channels);
    return {walk.worst, walk.kept};
}

LayerMemory spatial_decode_memory(SpatialVaeConfig const& config, VaeClip const& clip) {
    auto const& widths = config.block_out_channels;
    std::int64_t const factor = config.factor();
    SpatialWalk walk{clip.clips * clip.frames, clip.height / factor, clip.width / factor};
    walk.attention(widths.back());
    std::int64_t in = widths.back();
    for (std::size_t i = widths.size(); i-- > 0; in = widths[i]) {
        walk.blocks(in, widths[i], config.layers_per_block + 1);
        if (i > 0) walk.twice(widths[i]);
    }
    walk.see(walk.pixels() * 3 * widths[0]);
    walk.end(widths[0], config.out_channels);
    return {walk.worst, walk.kept};
}

LayerMemory temporal_encode_memory(TemporalVaeConfig const& config, VaeClip const& clip) {
    auto walk = walk_of(config, clip);
    walk.conv(config.in_out_channels, config.filters);
    std::int64_t in = config.filters;
    for (std::size_t i = 0; i < config.channel_multipliers.size(); ++i) {
        std::int64_t const out = config.filters * config.channel_multipliers[i];
        walk.blocks(in, out, config.num_res_blocks);
        if (i < config.temporal_downsample.size() && config.temporal_downsample[i]) walk.halve(out);
        in = out;
    }
    walk.blocks(in, in, config.num_res_blocks);
    walk.end(in, 4 * config.latent_embed_dim);
    return {walk.worst, walk.kept};
}

LayerMemory temporal_decode_memory(TemporalVaeConfig const& config, VaeClip const& clip) {
    auto walk = walk_of(config, clip);
    walk.frames /= config.factor();
    std::int64_t in = config.filters * config.channel_multipliers.back();
    walk.conv(config.latent_embed_dim, in);
    walk.blocks(in, in, config.num_res_blocks);
    for (std::size_t i = config.channel_multipliers.size(); i-- > 0;) {
        std::int64_t const out = config.filters * config.channel_multipliers[i];
        walk.blocks(in, out, config.num_res_blocks);
        if (i > 0 && config.temporal_downsample[i - 1]) walk.twice(out);
        in = out;
    }
    walk.conv(in, config.in_out_channels);
    walk.end(in, config.in_out_channels);
    return {walk.worst, walk.kept};
}

namespace {

/// One chunk of the 2-D VAE.
VaeClip spatial_chunk(VaePipelineConfig const& config, VaeClip const& clip) {
    VaeClip chunk{1, clip.clips * clip.frames, clip.height, clip.width};
    if (config.micro_batch_size > 0) chunk.frames = std::min(chunk.frames, config.micro_batch_size);
    if (config.tile_sample_min_size > 0) {
        chunk.height = std::min(chunk.height, config.tile_sample_min_size);
        chunk.width = std::min(chunk.width, config.tile_sample_min_size);
    }
    return chunk;
}

/// One chunk of the temporal VAE.
VaeClip temporal_chunk(VaePipelineConfig const& config, VaeClip const& clip) {
    std::int64_t const factor = config.spatial.factor();
    VaeClip chunk{clip.clips, clip.frames, clip.height / factor, clip.width / factor};
    if (config.micro_frame_size > 0) chunk.frames = std::min(chunk.frames, config.micro_frame_size);
    return chunk;
}

/// Values of one channel of 2-D latents, and of final latents.
struct Latents {
    std::int64_t spatial, temporal;
};

Latents latents_of(VaePipelineConfig const& config, VaeClip const& clip) {
    std::int64_t const factor = config.spatial.factor();
    std::int64_t const area = clip.clips * (clip.height / factor) * (clip.width / factor);
    return {area * clip.frames,
            area * latent_frames(clip.frames, config.micro_frame_size, config.temporal.factor())};
}

}  // namespace

std::int64_t encode_peak(VaePipelineConfig const& config, VaeClip const& clip) {
    auto const latents = latents_of(config, clip);
    std::int64_t const x_z = latents.spatial * config.spatial.latent_channels;
    std::int64_t const moments = latents.temporal * 2 * config.temporal.embed_dim;
    VaeClip const frames = spatial_chunk(config, clip);
    std::int64_t const input =
        frames.frames * clip.height * clip.width * config.spatial.in_channels;
    return x_z +
           std::max(
               input + spatial_encode_memory(config.spatial, frames).worst,
               2 * moments +
                   temporal_encode_memory(config.temporal, temporal_chunk(config, clip)).worst);
}

std::int64_t decode_peak(VaePipelineConfig const& config, VaeClip const& clip) {
    auto const latents = latents_of(config, clip);
    std::int64_t const x_z = latents.spatial * config.spatial.latent_channels;
    std::int64_t const z = latents.temporal * config.temporal.embed_dim;
    std::int64_t const x =
        clip.clips * clip.frames * clip.height * clip.width * config.spatial.out_channels;
    VaeClip const frames = spatial_chunk(config, clip);
    return z + x_z +
           std::max(
               x_z + temporal_decode_memory(config.temporal, temporal_chunk(config, clip)).worst,
               x + spatial_decode_memory(config.spatial, frames).worst);
}

}  // namespace osora::plan
