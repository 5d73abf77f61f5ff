// STDiT2, the spatial-temporal transformer of Open-Sora v1.1, with the numbers (quirks included) of
// opensora/models/stdit/stdit2.py. One thread drives a model; wrong shapes are bugs.
#pragma once

#include "worker/model/layer_ranks.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/stdit/stdit2_config.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace osora::worker {

/// The input of STDiT3, and facts about the clips: each is (B), or (n) repeated over the batch, as
/// is fps.
struct Stdit2Input : Stdit3Input {
    at::Tensor height, width;  // pixels
    at::Tensor ar;             // width / height, as v1.1 trains; its inference gives height / width
    at::Tensor num_frames;     // of the clip, not of the latent
};

class Stdit2 {
public:
    /// Uninitialised weights: call initialise() or parameters().load().
    /// `sharing`: ranks that share layers; they bring the same input.
    explicit Stdit2(Stdit2Config const& config, at::TensorOptions options = {},
                    LayerRanks sharing = {});
    ~Stdit2();
    Stdit2(Stdit2&&) noexcept;
    Stdit2& operator=(Stdit2&&) noexcept;

    /// Open-Sora's initial values, the same for a seed on every machine.
    void initialise(std::uint64_t seed);

    /// (B, out_channels, T, H, W) in fp32; the first in_channels are the velocity.
    [[nodiscard]] at::Tensor forward(Stdit2Input const& input) const;

    /// As Stdit3::share_tokens().
    void share_tokens(std::shared_ptr<TokenRanks> ranks) { token_ranks_ = std::move(ranks); }

    /// As Stdit3::set_recompute(), of `blocks`.
    void set_recompute(std::shared_ptr<plan::RecomputeChoice const> choice) {
        recompute_ = std::move(choice);
    }

    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return parameters_; }
    [[nodiscard]] Stdit2Config const& config() const { return config_; }

private:
    struct Layers;
    Stdit2Config config_;
    Parameters parameters_;
    std::unique_ptr<Layers> layers_;
    LayerRanks sharing_;
    std::shared_ptr<TokenRanks> token_ranks_;  // null: one rank has all tokens
    std::shared_ptr<plan::RecomputeChoice const> recompute_;
};

}  // namespace osora::worker
