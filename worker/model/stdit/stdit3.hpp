// STDiT3, the spatial-temporal transformer of Open-Sora v1.2, with the numbers (quirks included)
// of opensora/models/stdit/stdit3.py. One thread drives a model; wrong shapes are bugs.
#pragma once

#include "plan/activation_choice.hpp"
#include "worker/model/layer_ranks.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/stdit/stdit3_config.hpp"
#include "worker/model/token_ranks.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace osora::worker {

/// Input of one forward pass. Comments say what undefined tensors mean.
struct Stdit3Input {
    at::Tensor x;          // (B, in_channels, T, H, W); padded to patches inside
    at::Tensor timestep;   // (B), 0..1000
    at::Tensor fps;        // (B), or (1) for all
    double height_px = 0;  // of sample 0; scales the positions of the whole batch
    double width_px = 0;
    at::Tensor y;       // (B, 1, L, caption_channels); undefined: null captions
    at::Tensor y_mask;  // (B, L) on the CPU, != 0 is a token; undefined: all are
    at::Tensor drop;    // (B) bool, true: caption replaced by the null one; undefined: none is
    at::Tensor x_mask;  // (B, T) bool, true: noised frame, false: given; undefined: all noised
};

class Stdit3 {
public:
    /// Uninitialised weights: call initialise() or parameters().load().
    /// `sharing`: ranks that share layers; they bring the same input.
    explicit Stdit3(Stdit3Config const& config, at::TensorOptions options = {},
                    LayerRanks sharing = {});
    ~Stdit3();
    Stdit3(Stdit3&&) noexcept;
    Stdit3& operator=(Stdit3&&) noexcept;

    /// Open-Sora's initial values, the same for a seed on every machine.
    void initialise(std::uint64_t seed);

    /// (B, out_channels, T, H, W) in fp32; the first in_channels are the velocity.
    [[nodiscard]] at::Tensor forward(Stdit3Input const& input) const;

    /// From now on forward() keeps only the tokens of this rank's runs, and returns all of them on
    /// each rank. All ranks must bring the same input and weights.
    void share_tokens(std::shared_ptr<TokenRanks> ranks) { token_ranks_ = std::move(ranks); }

    /// Which blocks (in the order of the forward pass: spatial, temporal, spatial, ...) are
    /// recomputed in backward; nullptr: none. Read in each forward pass.
    void set_recompute(std::shared_ptr<plan::RecomputeChoice const> choice) {
        recompute_ = std::move(choice);
    }

    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return parameters_; }
    [[nodiscard]] Stdit3Config const& config() const { return config_; }

private:
    struct Layers;
    Stdit3Config config_;
    Parameters parameters_;
    std::unique_ptr<Layers> layers_;
    LayerRanks sharing_;
    std::shared_ptr<TokenRanks> token_ranks_;  // null: one rank has all tokens
    std::shared_ptr<plan::RecomputeChoice const> recompute_;
};

}  // namespace osora::worker
