// The cost of one sample of a bucket, and the batch sizes that give every step the same cost. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace osora::plan {

/// The sizes of an STDiT (spatial and temporal blocks) that determine its cost; the defaults are
/// STDiT3-XL/2 after the VAE of Open-Sora 1.2.
struct DitSizes {
    int hidden = 1152;             // C
    int depth = 28;                // pairs of one spatial and one temporal block
    double mlp_ratio = 4.0;        // hidden units of the MLP / C
    int patch_frames = 1;          // latent frames per token
    int patch_side = 2;            // latent pixels per token, in height and in width
    int text_tokens = 300;         // L
    int spatial_compression = 8;   // of the VAE; 1: pixel space
    int temporal_compression = 4;  // of the VAE; 1: pixel space
    int temporal_chunk = 17;       // frames that the VAE processes at once; 0: all
};

/// Latent frames: each chunk is padded to a multiple of temporal_compression (17 -> 5, 102 -> 30,
/// 22 = 17 + 5 -> 7).
[[nodiscard]] std::int64_t latent_frames(DitSizes const& sizes, int num_frames);

struct TokenGrid {
    std::int64_t frames = 0;     // T
    std::int64_t per_frame = 0;  // S
};
[[nodiscard]] TokenGrid token_grid(DitSizes const& sizes, BucketKey const& key);

/// Forward FLOPs of one sample: N = S T tokens,
/// N (2 (6 + 2 mlp_ratio) C^2 2D + 4 S C D + 4 T C D + 4 L C 2D) + 4 C^2 L 2D; a training step is
/// three times that, four with full recompute. The batch sizes that the authors of Open-Sora found
/// by search for 144p, 240p and 360p videos (configs/opensora-v1-2/train/stage1.py) cost the same
/// by it within 19 %.
[[nodiscard]] double forward_flops(DitSizes const& sizes, BucketKey const& key);

struct BatchRule {
    std::int64_t global_batch_size = 0;  // batch size of the reference bucket, keys[0]
    int multiple = 1;  // every global batch is a multiple of it and of dp_size; if it is a multiple
                       // of
    int dp_size = 1;   // every possible dp_size, batches do not depend on dp_size
};

/// The global batch size of each key: the number of samples with the cost of the reference's batch,
/// rounded to the nearest multiple of lcm(multiple, dp_size), at least one multiple.
[[nodiscard]] Result<std::vector<std::int64_t>> equal_cost_batches(std::span<BucketKey const> keys,
                                                                   DitSizes const& sizes,
                                                                   BatchRule const& rule);

}  // namespace osora::plan
