// Layers that the 2-D and the temporal VAE are made of. Private to worker/vae.
//
// They take their input by value where they can let it go before they are done: what a chunk needs
// at its peak is then the residual, the input and the output of one convolution (vae_memory.hpp).
#pragma once

#include "worker/model/parameters.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace osora::worker {

/// The position of a layer in the state dict.
struct Scope {
    Parameters& parameters;
    std::string name;  // "encoder.conv_in"; empty: the root
    TensorKind kind = TensorKind::trainable;

    [[nodiscard]] Scope operator/(std::string_view child) const;
    [[nodiscard]] Scope operator/(std::int64_t index) const;
    [[nodiscard]] at::Tensor add(char const* leaf, at::IntArrayRef shape) const;
};

/// GroupNorm, then SiLU unless `plain`.
struct GroupNorm {
    GroupNorm(Scope const& scope, std::int64_t channels, std::int64_t groups, double eps);
    [[nodiscard]] at::Tensor plain(at::Tensor const& x) const;
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    at::Tensor weight, bias;  // (channels)
    std::int64_t groups;
    double eps;
};

/// kernel 1 or 3, zeros around.
struct Conv2d {
    Conv2d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t kernel);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;
    /// Stride 2; zeros only to the right and below (Downsample2D of diffusers).
    [[nodiscard]] at::Tensor halve(at::Tensor x) const;

    at::Tensor weight, bias;  // (out, in, kernel, kernel), (out)
};

struct ConvOptions {
    std::int64_t time_stride = 1;
    bool with_bias = true;
};

/// Sees only earlier frames: kernel - time_stride frames of zeros before, none after, zeros around
/// each frame. Its tensors are under "conv".
struct CausalConv3d {
    CausalConv3d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t kernel,
                 ConvOptions const& options = {});
    [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

    at::Tensor weight, bias;  // (out, in, kernel, kernel, kernel), (out) or undefined
    std::int64_t time_stride;
};

}  // namespace osora::worker
