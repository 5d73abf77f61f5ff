// What planner and worker know of an architecture: its sizes, its parameters, by name. Pure; the
// one place where the sizes of a named model stand.
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

enum class ModelFamily { stdit3, stdit2, mmdit };

/// Compression of the VAE in front of the model; all 1: pixel space.
struct VaeShape {
    int temporal = 1;
    int spatial = 1;
    int chunk_frames = 0;  // frames it takes at once (Open-Sora 1.2: 17); 0: all
};

struct ModelShape {
    std::string arch;
    ModelFamily family = ModelFamily::stdit3;
    int in_channels = 4;                     // of a latent; 3 in pixel space
    std::array<int, 3> patch_size{1, 2, 2};  // (T, H, W), latent pixels a token
    int hidden = 1152;
    int depth = 28;        // stdit3: pairs of a spatial and a temporal block; mmdit: double blocks
    int single_depth = 0;  // mmdit: single blocks
    int heads = 16;
    double mlp_ratio = 4.0;
    int caption_channels = 4096;
    int pooled_channels = 0;  // mmdit: of the one vector of a caption
    int text_tokens = 300;
    int input_sq_size = 512;  // pixels; side at which positions have scale 1
    bool pred_sigma = true;   // twice the output channels; the loss reads the first half
    VaeShape vae;

    [[nodiscard]] int head_dim() const { return hidden / heads; }
    [[nodiscard]] int mlp_hidden() const { return static_cast<int>(hidden * mlp_ratio); }
    [[nodiscard]] int blocks() const {  // transformer blocks
        return family == ModelFamily::stdit3 ? 2 * depth : depth + single_depth;
    }
    [[nodiscard]] int out_channels() const { return in_channels * (pred_sigma ? 2 : 1); }
    [[nodiscard]] int patch_volume() const { return patch_size[0] * patch_size[1] * patch_size[2]; }
    /// mmdit: numbers of a head that rope turns by frame, row and column; an eighth for the frame,
    /// so that all are even (128 -> 16, 56, 56). head_dim is even and at least 6.
    [[nodiscard]] std::array<int, 3> rope_axes() const;
    /// Heights and widths of samples, in pixels, are multiples of it.
    [[nodiscard]] int pixel_multiple() const { return vae.spatial * patch_size[1]; }
};

/// Learned tensors of one part; the sums are what a checkpoint holds, buffers excluded.
struct ParameterCount {
    std::int64_t tensors = 0;
    std::int64_t parameters = 0;
};
[[nodiscard]] ParameterCount parameter_count(ModelShape const& shape);
/// Of one block (mmdit: one double block).
[[nodiscard]] ParameterCount block_parameters(ModelShape const& shape);

/// Numbers in LoRA adapters of this rank on the linears of attention and MLP, which
/// optim.lora_targets = [] means; 0 for rank 0.
[[nodiscard]] std::int64_t adapter_parameters(ModelShape const& shape, int rank);

/// not_found lists the known architectures.
[[nodiscard]] Result<ModelShape> model_shape(std::string_view arch);
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace osora::plan
