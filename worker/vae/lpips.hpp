// LPIPS, the perceptual distance of Zhang et al. 2018 over VGG16, by the names and numbers of
// Open-Sora v1.2 (opensora/models/vae/lpips.py). The weights are never trained: they are loaded.
#pragma once

#include "worker/model/parameters.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>

namespace osora::worker {

struct LpipsConfig {
    std::array<std::int64_t, 5> widths{64, 128, 256, 512, 512};  // of the stages of VGG16
};

class Lpips {
public:
    /// Adds frozen tensors to `parameters`: net.slice1.0.weight ... lin4.model.1.weight, and the
    /// buffers scaling_layer.shift and .scale; load() fills them.
    explicit Lpips(Parameters& parameters, LpipsConfig const& config = {});
    ~Lpips();

    /// Two stacks of frames (N, 3, H, W) in [-1, 1], H and W at least 16 -> (N, 1, 1, 1).
    [[nodiscard]] at::Tensor operator()(at::Tensor const& a, at::Tensor const& b) const;

private:
    struct Layers;
    std::unique_ptr<Layers> layers_;
};

}  // namespace osora::worker
