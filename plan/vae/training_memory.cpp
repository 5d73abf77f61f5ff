#include "plan/vae/training_memory.hpp"

#include "plan/vae/vae_chunks.hpp"

#include <algorithm>
#include <bit>

namespace osora::plan {
namespace {

/// Per clip, besides the largest piece: input frames, their reconstruction in pieces and whole, and
/// its gradient.
constexpr std::int64_t kVideos = 4;
/// Values per pixel that LPIPS keeps of a frame (VGG16, its features and their differences).
constexpr std::int64_t kLpips = 1000;
/// Values per pixel that the discriminator keeps of a clip, in three calls.
constexpr std::int64_t kDiscriminator = 3 * 46;

std::int64_t pixels_of(VaeClip const& clip) {
    return clip.clips * clip.frames * clip.height * clip.width;
}

/// Backward frees a layer before it works on the next, so the larger of the two counts.
std::int64_t larger_of(LayerMemory const& memory) {
    return std::max(memory.kept, memory.worst);
}

}  // namespace

bool in_pieces(VaePipelineConfig const& config, VaeClip const& clip) {
    bool const frames =
        config.micro_batch_size > 0 && config.micro_batch_size < clip.clips * clip.frames;
    return frames || (config.micro_frame_size > 0 && config.micro_frame_size < clip.frames);
}

std::int64_t vae_training_peak(VaePipelineConfig const& config, VaeLossSection const& loss,
                               VaeClip const& clip) {
    VaeClip frames{1, clip.clips * clip.frames, clip.height, clip.width};
    VaeClip chunk{clip.clips, clip.frames, clip.height / config.spatial.factor(),
                  clip.width / config.spatial.factor()};
    if (config.micro_batch_size > 0)
        frames.frames = std::min(frames.frames, config.micro_batch_size);
    if (config.micro_frame_size > 0) chunk.frames = std::min(chunk.frames, config.micro_frame_size);
    LayerMemory encode = spatial_encode_memory(config.spatial, frames);
    if (loss.freeze_2d) encode.kept = 0;
    LayerMemory decode;
    if (loss.real_rec) decode = spatial_decode_memory(config.spatial, frames);
    LayerMemory const in = temporal_encode_memory(config.temporal, chunk);
    LayerMemory const out = temporal_decode_memory(config.temporal, chunk);
    LayerMemory const time{std::max(in.worst, out.worst), in.kept + out.kept};
    bool const lpips = loss.real_rec && !loss.lpips.empty() && loss.perceptual_weight > 0;
    std::int64_t const seen = lpips ? kLpips * pixels_of(frames) : 0;
    std::int64_t const judged =
        loss.real_rec && loss.adversarial_weight > 0 ? kDiscriminator * pixels_of(clip) : 0;
    std::int64_t const videos = kVideos * config.spatial.in_channels * pixels_of(clip) + judged;
    if (in_pieces(config, clip))
        return videos + std::max({larger_of(encode), larger_of(decode), larger_of(time), seen});
    return videos + larger_of(encode) + larger_of(decode) + larger_of(time) + seen;
}

namespace {

/// Walks through VideoGPT's layers with the sides of three axes.
struct VqvaeWalk {
    std::int64_t clips, frames, height, width;
    std::int64_t worst = 0, kept = 0;

    [[nodiscard]] std::int64_t pixels(std::int64_t around = 0) const {
        return clips * (frames + around) * (height + around) * (width + around);
    }
    void see(std::int64_t numbers) { worst = std::max(worst, numbers); }
    /// The padded input and the activation of the output, which has the new sides `at`.
    void strided(std::int64_t in, std::int64_t out, bool halves_frames, bool halves_side) {
        std::int64_t const padded = pixels(2) * in;
        if (halves_frames) frames /= 2;
        if (halves_side) height /= 2, width /= 2;
        kept += padded + pixels() * out;
        see(2 * padded + 2 * pixels() * out);
    }
    void transposed(std::int64_t in, std::int64_t out, bool doubles_frames, bool doubles_side) {
        std::int64_t const padded = pixels(2) * in;
        if (doubles_frames) frames *= 2;
        if (doubles_side) height *= 2, width *= 2;
        kept += padded + pixels() * out;
        see(2 * padded + 2 * pixels() * out);
    }
    /// Three norms, two convolutions, attention along three axes, the sum.
    void residual(std::int64_t channels, std::int64_t blocks) {
        kept += blocks * (pixels() * 25 + pixels(2)) * channels;
        kept += 2 * pixels() * channels;  // the norm after them
        if (blocks > 0) see(pixels() * 9 * channels);
    }
};

int halvings(int factor) {
    return std::countr_zero(static_cast<unsigned>(std::max(1, factor)));
}

}  // namespace

std::int64_t vqvae_training_peak(VqvaeSection const& sizes, std::int64_t micro_frame_size,
                                 VaeClip const& clip) {
    std::int64_t const videos = kVideos * 3 * pixels_of(clip);
    VqvaeWalk walk{clip.clips, clip.frames, clip.height, clip.width};
    if (micro_frame_size > 0) walk.frames = std::min(walk.frames, micro_frame_size);
    int const in_time = halvings(sizes.downsample_frames);
    int const in_space = halvings(sizes.downsample_pixels);
    int const levels = std::max(in_time, in_space);
    std::int64_t const wide = sizes.n_hiddens;
    for (int i = 0; i < levels; ++i)
        walk.strided(i == 0 ? 3 : wide, wide, i < in_time, i < in_space);
    walk.strided(wide, wide, false, false);
    walk.residual(wide, sizes.n_res_layers);
    // Vectors, their codes' vectors, differences; distances to all codes.
    walk.kept += 6 * walk.pixels() * sizes.embedding_dim + walk.pixels() * wide;
    walk.see(2 * walk.pixels() * sizes.n_codes);
    walk.residual(wide, sizes.n_res_layers);
    for (int i = 0; i < levels; ++i)
        walk.transposed(wide, i + 1 == levels ? 3 : wide, i < in_time, i < in_space);
    return videos + std::max(walk.kept, walk.worst);
}

namespace {

std::int64_t conv(std::int64_t in, std::int64_t out, std::int64_t volume, bool with_bias = true) {
    return in * out * volume + (with_bias ? out : 0);
}

std::int64_t block_2d(std::int64_t in, std::int64_t out) {
    return 2 * in + conv(in, out, 9) + 2 * out + conv(out, out, 9) +
           (in == out ? 0 : conv(in, out, 1));
}

/// Two blocks around attention.
std::int64_t middle(std::int64_t width) {
    return 2 * block_2d(width, width) + 2 * width + 4 * conv(width, width, 1);
}

std::int64_t block_3d(std::int64_t in, std::int64_t out) {
    return 2 * in + conv(in, out, 27, false) + 2 * out + conv(out, out, 27, false) +
           (in == out ? 0 : in * out);
}

}  // namespace

std::int64_t spatial_parameters(SpatialVaeConfig const& config) {
    auto const& widths = config.block_out_channels;
    std::int64_t const last = widths.back(), latent = config.latent_channels;
    std::int64_t count = conv(config.in_channels, widths[0], 9) + middle(last) + 2 * last +
                         conv(last, 2 * latent, 9) + conv(2 * latent, 2 * latent, 1);
    for (std::size_t i = 0; i < widths.size(); ++i) {
        std::int64_t const in = widths[i == 0 ? 0 : i - 1], out = widths[i];
        count += block_2d(in, out) + (config.layers_per_block - 1) * block_2d(out, out);
        if (i + 1 < widths.size()) count += conv(out, out, 9);
    }
    count += conv(latent, latent, 1) + conv(latent, last, 9) + middle(last) + 2 * widths[0] +
             conv(widths[0], config.out_channels, 9);
    std::int64_t in = last;
    for (std::size_t i = widths.size(); i-- > 0; in = widths[i]) {
        count += block_2d(in, widths[i]) + config.layers_per_block * block_2d(widths[i], widths[i]);
        if (i > 0) count += conv(widths[i], widths[i], 9);
    }
    return count;
}

std::int64_t temporal_parameters(TemporalVaeConfig const& config) {
    std::int64_t const last = config.filters * config.channel_multipliers.back();
    std::int64_t const blocks = config.num_res_blocks;
    std::int64_t const embed = config.latent_embed_dim;
    std::int64_t count =
        conv(config.in_out_channels, config.filters, 27, false) +
        2 * blocks * block_3d(last, last) + 2 * last + conv(last, 2 * embed, 1) +
        conv(2 * embed, 2 * config.embed_dim, 1) + conv(config.embed_dim, embed, 1) +
        conv(embed, last, 27) + 2 * config.filters * config.channel_multipliers[0] +
        conv(config.filters * config.channel_multipliers[0], config.in_out_channels, 27);
    std::int64_t down = config.filters, up = last;
    for (std::size_t i = 0; i < config.channel_multipliers.size(); ++i) {
        std::int64_t const out = config.filters * config.channel_multipliers[i];
        count += block_3d(down, out) + (blocks - 1) * block_3d(out, out);
        if (i < config.temporal_downsample.size() && config.temporal_downsample[i])
            count += conv(out, out, 27);
        down = out;
    }
    for (std::size_t i = config.channel_multipliers.size(); i-- > 0;) {
        std::int64_t const out = config.filters * config.channel_multipliers[i];
        count += block_3d(up, out) + (blocks - 1) * block_3d(out, out);
        if (i > 0 && config.temporal_downsample[i - 1]) count += conv(out, 2 * out, 27);
        up = out;
    }
    return count;
}

std::int64_t vqvae_parameters(VqvaeSection const& sizes) {
    std::int64_t const wide = sizes.n_hiddens, half = wide / 2, vector = sizes.embedding_dim;
    int const levels =
        std::max(halvings(sizes.downsample_frames), halvings(sizes.downsample_pixels));
    std::int64_t const attention = 3 * (4 * wide * wide + wide);
    std::int64_t const block = 2 * wide + conv(wide, half, 27, false) + 2 * half +
                               conv(half, wide, 1, false) + 2 * wide + attention;
    std::int64_t count = 2 * (sizes.n_res_layers * block + 2 * wide) + conv(wide, wide, 27) +
                         conv(wide, vector, 1) + conv(vector, wide, 1);
    for (int i = 0; i < levels; ++i)
        count += conv(i == 0 ? 3 : wide, wide, 64) + conv(wide, i + 1 == levels ? 3 : wide, 64);
    return count;
}

}  // namespace osora::plan
