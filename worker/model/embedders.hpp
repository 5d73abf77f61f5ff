// What turns pixels or latents, times and captions into vectors of the hidden size, and the tables
// of positions. Private to worker/model.
#pragma once

#include "worker/model/linear.hpp"
#include "worker/model/stdit3_config.hpp"

#include <map>
#include <tuple>

namespace osora::worker {

/// Tokens of a padded input: T' frames of S = H' x W' patches.
struct TokenGrid {
    std::int64_t batch = 0, frames = 0, rows = 0, columns = 0;
    [[nodiscard]] std::int64_t per_frame() const { return rows * columns; }
};
[[nodiscard]] TokenGrid token_grid(Stdit3Config const& config, at::Tensor const& x);

/// PatchEmbed3D: a convolution whose kernel is its stride, done as one matrix product.
struct PatchEmbed {
    PatchEmbed(Parameters& parameters, Stdit3Config const& config);
    /// (B, C, T, H, W) -> (B T' S, hidden); pads right, bottom and end with zeros.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, TokenGrid const& grid) const;

    Stdit3Config config;
    at::Tensor weight;  // (hidden, in_channels, patch...)
    at::Tensor bias;
};

/// Sinusoid [cos, sin] of 256 numbers, Linear, SiLU, Linear.
struct ScalarEmbed {
    ScalarEmbed(Parameters& parameters, std::string const& name, std::int64_t hidden);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& values) const;  // (B) -> (B, hidden)

    Linear first, second;
};

/// Captions of a batch as packed tokens.
struct PackedText {
    at::Tensor tokens;                  // (sum of lengths, hidden)
    std::vector<std::int64_t> lengths;  // per sample; one entry when `shared`
    bool shared = false;                // all samples read the same tokens
};

struct CaptionEmbed {
    CaptionEmbed(Parameters& parameters, Stdit3Config const& config);
    /// y, mask, drop as in Stdit3Input.
    [[nodiscard]] PackedText operator()(at::Tensor const& y, at::Tensor const& mask,
                                        at::Tensor const& drop) const;

    Mlp projection;
    at::Tensor null_caption;  // (model_max_length, caption_channels), a buffer
};

/// 2-D sin-cos table: first half of the channels encodes the column, second half the row.
class PositionTable {
public:
    /// (S, hidden); `scale` = sqrt(pixels of sample 0) / input_sq_size.
    [[nodiscard]] at::Tensor get(TokenGrid const& grid, double scale, std::int64_t hidden,
                                 at::TensorOptions const& options);

private:
    using Key = std::tuple<std::int64_t, std::int64_t, double>;
    std::map<Key, at::Tensor> cache_;  // bounded: emptied when full
};

/// exp(i position freq) as complex numbers, (frames, 1, 1, head_dim / 2).
[[nodiscard]] at::Tensor rope_rotations(at::Tensor const& freqs, std::int64_t frames);

}  // namespace osora::worker
