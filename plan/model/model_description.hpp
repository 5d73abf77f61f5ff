// An architecture as planner and worker know it: its sizes and parameters, by name. Pure; the only
// definition of the sizes of named models.
#pragma once

#include "base/result.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

enum class ModelFamily { stdit3, stdit2, mmdit };

/// Compression of the VAE before the model; all 1: pixel space.
struct VaeShape {
    int temporal = 1;
    int spatial = 1;
    int chunk_frames = 0;  // frames it processes at once (Open-Sora 1.2: 17); 0: all
};

struct ModelShape {
    std::string arch;
    ModelFamily family = ModelFamily::stdit3;
    int in_channels = 4;                     // of a latent; 3 in pixel space
    std::array<int, 3> patch_size{1, 2, 2};  // (T, H, W), latent pixels per token
    int hidden = 1152;
    int depth = 28;        // stdit3: pairs of a spatial and a temporal block; mmdit: double blocks
    int single_depth = 0;  // mmdit: single blocks
    int heads = 16;
    double mlp_ratio = 4.0;
    int caption_channels = 4096;
    int pooled_channels = 0;  // mmdit: of the one vector of a caption
    int text_tokens = 300;
    int input_sq_size = 512;  // pixels; side for which positions have scale 1
    bool pred_sigma = true;   // twice the output channels; the loss reads the first half
    VaeShape vae;

    [[nodiscard]] int head_dim() const { return hidden / heads; }
    [[nodiscard]] int mlp_hidden() const { return static_cast<int>(hidden * mlp_ratio); }
    [[nodiscard]] int blocks() const {  // transformer blocks
        return family == ModelFamily::stdit3 ? 2 * depth : depth + single_depth;
    }
    [[nodiscard]] int out_channels() const { return in_channels * (pred_sigma ? 2 : 1); }
    [[nodiscard]] int patch_volume() const { return patch_size[0] * patch_size[1] * patch_size[2]; }
    /// mmdit: number of a head's values that rope rotates by frame, row and column; an eighth for
    /// the frame, so that all are even (128 -> 16, 56, 56). head_dim must be even and at least 6.
    [[nodiscard]] std::array<int, 3> rope_axes() const;
    /// Heights and widths of samples, in pixels, must be multiples of it.
    [[nodiscard]] int pixel_multiple() const { return vae.spatial * patch_size[1]; }
};

/// Blocks [begin, end) in the order of a forward pass.
struct BlockSpan {
    std::int64_t begin = 0, end = 0;
    /// Number of blocks that are also in `other`.
    [[nodiscard]] std::int64_t common(BlockSpan const& other) const {
        return std::max<std::int64_t>(0, std::min(end, other.end) - std::max(begin, other.begin));
    }
};

/// Learned tensors of one part; the sums are the content of a checkpoint, without buffers.
struct ParameterCount {
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
};
[[nodiscard]] ParameterCount parameter_count(ModelShape const& shape);
/// Of one block (mmdit: one double block).
[[nodiscard]] ParameterCount block_parameters(ModelShape const& shape);

/// not_found lists the known architectures.
[[nodiscard]] Result<ModelShape> model_shape(std::string_view arch);
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace osora::plan
