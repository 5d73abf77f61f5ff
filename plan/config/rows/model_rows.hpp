// Rows of schema.cpp for the sections [model], [vae], [vae_loss] and [vqvae]. Private to it.
#pragma once

#include "plan/config/schema.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace osora::plan {

inline constexpr double kInt = std::numeric_limits<int>::max();
inline constexpr std::string_view kArchs =
    "stdit3-tiny|stdit3-xl/2|stdit3-3b/2|stdit2-tiny|stdit2-xl/2|mmdit-tiny|mmdit-11b";

template <std::size_t N, std::size_t M>
constexpr std::array<SchemaRow, N + M> joined(std::array<SchemaRow, N> const& first,
                                              std::array<SchemaRow, M> const& second) {
    std::array<SchemaRow, N + M> rows;
    std::ranges::copy(second, std::ranges::copy(first, rows.begin()).out);
    return rows;
}

// clang-format off
inline constexpr std::array kModelRows{
    SchemaRow{.section = "model", .key = "arch", .doc = "Architecture.", .choices = kArchs,
              .in_template = true},
    SchemaRow{.section = "model", .key = "init",
              .doc = "First weights: a file, an index of shards, or their folder; empty: random.",
              .example = "\"weights.safetensors\"", .shape = Shape::path},

    SchemaRow{.section = "model", .key = "depth",
              .doc = "Pairs of blocks (stdit2: blocks; mmdit: double blocks); 0: of arch, as all.",
              .min = 0, .max = 1024},
    SchemaRow{.section = "model", .key = "single_depth", .doc = "mmdit: single blocks.", .min = 0,
              .max = 1024},
    SchemaRow{.section = "model", .key = "hidden", .doc = "Width of a token.", .min = 0,
              .max = 65536},
    SchemaRow{.section = "model", .key = "heads", .doc = "Heads of attention.", .min = 0,
              .max = 4096},
    SchemaRow{.section = "model", .key = "mlp_ratio", .doc = "Width of the MLP over hidden.",
              .min = 0, .max = 64},
    SchemaRow{.section = "model", .key = "patch_size",
              .doc = "Height and width of a token, in latent pixels.", .min = 0, .max = 64},
    SchemaRow{.section = "model", .key = "in_channels",
              .doc = "Channels of a latent; 3 in pixel space.", .min = 0, .max = 4096},
    SchemaRow{.section = "model", .key = "text_tokens", .doc = "Tokens of a caption, at most.",
              .min = 0, .max = 65536},
    SchemaRow{.section = "model", .key = "caption_channels",
              .doc = "Width of an embedded token of text.", .min = 0, .max = 65536},
    SchemaRow{.section = "model", .key = "pooled_channels",
              .doc = "mmdit: width of the one vector of a caption.", .min = 0, .max = 65536},

    SchemaRow{.section = "vae", .key = "arch", .doc = "Architecture of the autoencoder.",
              .choices = "opensora-v1.2|tiny"},
    SchemaRow{.section = "vae", .key = "weights",
              .doc = "Its weights: a file, an index of shards, or their folder; empty: random.",
              .example = "\"vae.safetensors\"", .shape = Shape::path},
    SchemaRow{.section = "vae", .key = "micro_batch_size",
              .doc = "Frames that its 2-D part takes at a time; auto: as memory allows.",
              .unit = "frames", .min = 1, .max = kInt},
    SchemaRow{.section = "vae", .key = "micro_frame_size",
              .doc = "Frames that its temporal part takes at a time; latents depend on it.",
              .unit = "frames", .min = 1, .max = kInt},
    SchemaRow{.section = "vae", .key = "tile_sample_min_size",
              .doc = "Larger frames go in overlapping tiles of this side; 0: never.",
              .unit = "pixels", .min = 0, .max = 65536},

    SchemaRow{.section = "vae_loss", .key = "real_rec",
              .doc = "Frames against reconstructed frames, and the KL divergence."},
    SchemaRow{.section = "vae_loss", .key = "z_rec",
              .doc = "2-D latents compared with those after the temporal part."},
    SchemaRow{.section = "vae_loss", .key = "image_identity",
              .doc = "Of images: latents against 2-D latents."},
    SchemaRow{.section = "vae_loss", .key = "freeze_2d",
              .doc = "Train the temporal part only."},
    SchemaRow{.section = "vae_loss", .key = "mixed",
              .doc = "image: some steps see first frames only; random: 1 to all frames.",
              .choices = "none|image|random"},
    SchemaRow{.section = "vae_loss", .key = "mixed_image_ratio",
              .doc = "Share of the steps that see first frames only.",
              .min = 0, .max = 1},
    SchemaRow{.section = "vae_loss", .key = "kl_weight",
              .doc = "Weight of the KL divergence.",
              .min = 0, .max = 1e6},
    SchemaRow{.section = "vae_loss", .key = "perceptual_weight",
              .doc = "Weight of LPIPS, where its weights are given.",
              .min = 0, .max = 1e6},
    SchemaRow{.section = "vae_loss", .key = "lpips",
              .doc = "Weights of VGG16 and LPIPS by their names; empty: no such term.",
              .example = "\"lpips.safetensors\"", .shape = Shape::path},
    SchemaRow{.section = "vae_loss", .key = "logvar",
              .doc = "Log variance of the reconstruction error.",
              .min = -30, .max = 20},
    SchemaRow{.section = "vae_loss", .key = "adversarial_weight",
              .doc = "Weight of a 3-D PatchGAN, times its adaptive weight; 0: none.",
              .min = 0, .max = 1e6},
    SchemaRow{.section = "vae_loss", .key = "adversarial_start",
              .doc = "First step with it.",
              .unit = "steps", .min = 0, .max = kInt},

    SchemaRow{.section = "vqvae", .key = "n_codes",
              .doc = "Vectors in the codebook.",
              .min = 2, .max = 1048576},
    SchemaRow{.section = "vqvae", .key = "embedding_dim",
              .doc = "Numbers of a vector.",
              .min = 1, .max = 65536},
    SchemaRow{.section = "vqvae", .key = "n_hiddens",
              .doc = "Channels of encoder and decoder; even.",
              .min = 2, .max = 65536},
    SchemaRow{.section = "vqvae", .key = "n_res_layers",
              .doc = "Blocks of convolutions and axial attention in each.",
              .min = 0, .max = 1024},
    SchemaRow{.section = "vqvae", .key = "downsample_frames",
              .doc = "Frames a code; a power of two.",
              .unit = "frames", .min = 1, .max = 64},
    SchemaRow{.section = "vqvae", .key = "downsample_pixels",
              .doc = "Height and width a code; a power of two.",
              .unit = "pixels", .min = 2, .max = 64},
    SchemaRow{.section = "vqvae", .key = "commitment",
              .doc = "Weight of the distance of vectors from their codes.",
              .min = 0, .max = 1e6},
    SchemaRow{.section = "vqvae", .key = "decay",
              .doc = "Decay of the averages that codes are.",
              .min = 0, .max = 1},
    SchemaRow{.section = "vqvae", .key = "dead_below",
              .doc = "A code that is used less a step, on average, starts again.",
              .min = 0, .max = 1e9},
};
// clang-format on

}  // namespace osora::plan
