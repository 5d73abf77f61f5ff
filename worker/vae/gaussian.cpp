#include "worker/vae/gaussian.hpp"

#include "base/check.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/chunk.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>

namespace osora::worker {

Gaussian gaussian_of(at::Tensor const& moments) {
    OSORA_CHECK_EQ(moments.size(1) % 2, 0);
    auto const halves = at::chunk(moments, 2, 1);
    return {halves[0], at::clamp(halves[1], -30.0, 20.0)};
}

at::Tensor sample(Gaussian const& gaussian, at::Tensor const& eps) {
    if (!eps.defined()) return gaussian.mean;
    OSORA_CHECK(eps.sizes() == gaussian.mean.sizes(), "noise has the shape of the latents");
    return gaussian.mean + at::exp(0.5 * gaussian.logvar) * eps.to(gaussian.mean.scalar_type());
}

at::Tensor kl_divergence(Gaussian const& gaussian) {
    at::Tensor const terms =
        gaussian.mean.square() + at::exp(gaussian.logvar) - 1.0 - gaussian.logvar;
    return 0.5 * terms.flatten(1).sum(1);
}

}  // namespace osora::worker
