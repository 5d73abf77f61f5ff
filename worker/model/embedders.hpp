// Converts pixels or latents, times and captions into vectors of the hidden size, and the tables of
// positions. Private to worker/model.
#pragma once

#include "worker/model/linear.hpp"
#include "worker/model/stdit/stdit3_config.hpp"

#include <map>
#include <numeric>
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

/// [cos, sin] of the values at 128 frequencies, (n) -> (n, 256), in fp32.
[[nodiscard]] at::Tensor sinusoid(at::Tensor const& values);

/// sinusoid, Linear, SiLU, Linear.
struct ScalarEmbed {
    ScalarEmbed(Parameters& parameters, std::string const& name, std::int64_t hidden);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& values) const;  // (B) -> (B, hidden)

    Linear first, second;
};

/// Captions of a batch as packed tokens.
struct PackedText {
    at::Tensor tokens;                          // (sum of lengths, hidden)
    std::vector<std::int64_t> lengths;          // per sample; one entry when `shared`
    bool shared = false;                        // all samples read the same tokens
    [[nodiscard]] std::int64_t count() const {  // of the tokens
        return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    }
};

struct CaptionEmbed {
    CaptionEmbed(Parameters& parameters, Stdit3Config const& config);
    /// y, mask, drop as in Stdit3Input.
    [[nodiscard]] PackedText operator()(at::Tensor const& y, at::Tensor const& mask,
                                        at::Tensor const& drop) const;
    /// The same without tokens: only how many each sample has.
    [[nodiscard]] PackedText lengths(at::Tensor const& y, at::Tensor const& mask) const;

    Mlp projection;
    at::Tensor null_caption;  // (model_max_length, caption_channels), a buffer
};

/// Frequencies for the positions of a network of this type, (hidden / 4) in fp32: a buffer of the
/// network, so rounded to its type.
[[nodiscard]] at::Tensor position_frequencies(std::int64_t hidden,
                                              at::TensorOptions const& options);

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

}  // namespace osora::worker
