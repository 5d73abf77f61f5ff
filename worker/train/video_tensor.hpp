// Decoded pictures as networks take them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace osora::worker {

/// (N, T, H, W, 3) bytes -> (N, 3, T, H, W) fp32 in [-1, 1] on `device`; `shape` is (N, T, H, W).
[[nodiscard]] at::Tensor video_tensor(std::span<std::uint8_t const> pixels, at::IntArrayRef shape,
                                      c10::Device device);

}  // namespace osora::worker
