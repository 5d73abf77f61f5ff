// MMDiT, the two-stream transformer of Open-Sora v2.0, with the numbers of
// opensora/models/mmdit/{model,layers,math}.py. One thread drives a model; wrong shapes are bugs.
#pragma once

#include "plan/activation_choice.hpp"
#include "worker/model/layer_ranks.hpp"
#include "worker/model/mmdit/mmdit_config.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/token_ranks.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace osora::worker {

/// Input of one forward pass. Everything except ids is rounded to the model's type; ids too, as in
/// Open-Sora.
struct MmditInput {
    at::Tensor img;        // (B, tokens, in_channels): packed patches of a noised latent
    at::Tensor img_ids;    // (B, tokens, 3): frame, row, column of each patch
    at::Tensor txt;        // (B, L, context_in_dim)
    at::Tensor txt_ids;    // (B, L, 3): 0 in Open-Sora
    at::Tensor timesteps;  // (B), 0..1
    at::Tensor y_vec;      // (B, vec_in_dim): pooled captions
    at::Tensor cond;       // (B, tokens, cond_channels); with cond_embed only
    at::Tensor guidance;   // (B); with guidance_embed only
};

class Mmdit {
public:
    /// Uninitialised weights: call initialise() or parameters().load().
    /// `sharing`: ranks that share layers; they bring the same input.
    explicit Mmdit(MmditConfig const& config, at::TensorOptions options = {},
                   LayerRanks sharing = {});
    ~Mmdit();
    Mmdit(Mmdit&&) noexcept;
    Mmdit& operator=(Mmdit&&) noexcept;

    /// Open-Sora's initial values (those of nn.Linear; cond_in 0), the same for a seed on every
    /// machine.
    void initialise(std::uint64_t seed);

    /// (B, tokens, in_channels) in the model's type: the velocity, noise - sample.
    [[nodiscard]] at::Tensor forward(MmditInput const& input) const;

    /// From now on forward() keeps only the tokens of this rank's runs, and returns all of them on
    /// each rank. All ranks must bring the same input and weights.
    void share_tokens(std::shared_ptr<TokenRanks> ranks) { token_ranks_ = std::move(ranks); }

    /// Which blocks (double, then single) are recomputed in backward; nullptr: none. Read in each
    /// forward pass.
    void set_recompute(std::shared_ptr<plan::RecomputeChoice const> choice) {
        recompute_ = std::move(choice);
    }

    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return parameters_; }
    [[nodiscard]] MmditConfig const& config() const { return config_; }

private:
    struct Layers;
    MmditConfig config_;
    Parameters parameters_;
    std::unique_ptr<Layers> layers_;
    LayerRanks sharing_;
    std::shared_ptr<TokenRanks> token_ranks_;  // null: one rank has all tokens
    std::shared_ptr<plan::RecomputeChoice const> recompute_;
};

}  // namespace osora::worker
