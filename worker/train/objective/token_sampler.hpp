// The sampling loop of Open-Sora v2.0 (opensora/utils/sampling.py) for text to video: Euler steps
// from noise at time 1 to a sample at time 0, with classifier-free guidance. The network is a
// function.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace osora::worker {

/// steps + 1 times falling from 1 to 0, shifted towards noise by `alpha` (time_shift; 1: even).
[[nodiscard]] std::vector<double> token_times(std::int64_t steps, double alpha);

struct TokenNetwork {
    /// x (B, tokens, C), t (B) -> velocity (B, tokens, C), noise - sample.
    std::function<at::Tensor(at::Tensor const& x, at::Tensor const& t)> with_caption;
    /// With the null caption; empty: no guidance.
    std::function<at::Tensor(at::Tensor const& x, at::Tensor const& t)> without_caption;
};

/// `x`: noise, (B, tokens, C). Each step adds (t_next - t) (null + guidance (caption - null)).
[[nodiscard]] at::Tensor sample_tokens(std::vector<double> const& times, double guidance,
                                       at::Tensor x, TokenNetwork const& network);

}  // namespace osora::worker
