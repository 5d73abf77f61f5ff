#include "worker/train/objective/rectified_flow_v2.hpp"

#include "base/check.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace osora::worker {

at::Tensor pack_latent(at::Tensor const& latent, std::int64_t patch_size) {
    std::int64_t const p = patch_size;
    std::int64_t const rows = latent.size(3) / p, columns = latent.size(4) / p;
    OSORA_CHECK_EQ(rows * p, latent.size(3));
    OSORA_CHECK_EQ(columns * p, latent.size(4));
    std::int64_t const batch = latent.size(0), channels = latent.size(1), frames = latent.size(2);
    return latent.reshape({batch, channels, frames, rows, p, columns, p})
        .permute({0, 2, 3, 5, 1, 4, 6})
        .reshape({batch, frames * rows * columns, channels * p * p});
}

at::Tensor unpack_latent(at::Tensor const& tokens, LatentSize const& size,
                         std::int64_t patch_size) {
    std::int64_t const p = patch_size;
    std::int64_t const rows = size.height / p, columns = size.width / p;
    OSORA_CHECK_EQ(tokens.size(1), size.frames * rows * columns);
    std::int64_t const batch = tokens.size(0), channels = tokens.size(2) / (p * p);
    return tokens.reshape({batch, size.frames, rows, columns, channels, p, p})
        .permute({0, 4, 1, 2, 5, 3, 6})
        .reshape({batch, channels, size.frames, rows * p, columns * p});
}

at::Tensor latent_ids(std::int64_t batch, LatentSize const& size, std::int64_t patch_size) {
    std::int64_t const rows = size.height / patch_size, columns = size.width / patch_size;
    at::Tensor ids = at::zeros({size.frames, rows, columns, 3}, at::kFloat);
    ids.select(3, 0).add_(at::arange(size.frames, at::kFloat).view({-1, 1, 1}));
    ids.select(3, 1).add_(at::arange(rows, at::kFloat).view({1, -1, 1}));
    ids.select(3, 2).add_(at::arange(columns, at::kFloat).view({1, 1, -1}));
    return ids.view({1, -1, 3}).repeat({batch, 1, 1});
}

double shift_alpha(LatentSize const& size) {
    constexpr double kSlope = (3.0 - 1.0) / (4096 - 256);
    auto const patches = static_cast<double>(size.height * size.width / 4);
    return (1.0 + kSlope * (patches - 256)) * std::sqrt(static_cast<double>(size.frames));
}

at::Tensor time_shift(at::Tensor const& t, double alpha) {
    return at::mul(t, alpha).div(at::mul(t, alpha - 1).add(1));
}

at::Tensor shifted_times(at::Tensor const& normal, double alpha) {
    return time_shift(at::sigmoid(normal), alpha);
}

at::Tensor noised_tokens(at::Tensor const& x_0, at::Tensor const& noise, at::Tensor const& t,
                         double sigma_min) {
    OSORA_CHECK(x_0.sizes() == noise.sizes());
    at::Tensor const kept = at::rsub(t, 1).view({-1, 1, 1});
    return at::add(at::mul(kept, x_0), at::mul(at::rsub(at::mul(kept, 1 - sigma_min), 1), noise));
}

at::Tensor velocity_target(at::Tensor const& x_0, at::Tensor const& noise, double sigma_min) {
    return at::sub(at::mul(noise, 1 - sigma_min), x_0);
}

at::Tensor velocity_loss(at::Tensor const& output, at::Tensor const& target) {
    return at::mse_loss(output.to(at::kFloat), target.to(at::kFloat));
}

}  // namespace osora::worker
