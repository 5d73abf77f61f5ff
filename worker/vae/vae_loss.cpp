#include "worker/vae/vae_loss.hpp"

#include "base/check.hpp"

#include <cmath>

namespace osora::worker {

at::Tensor reconstruction_loss(at::Tensor const& video, at::Tensor const& reconstruction,
                               at::Tensor const& lpips, VaeLossConfig const& config) {
    OSORA_CHECK(video.sizes() == reconstruction.sizes(), "a reconstruction has the clip's shape");
    at::Tensor error = video.sub(reconstruction).abs().transpose(1, 2).flatten(0, 1);
    if (lpips.defined()) {
        OSORA_CHECK_EQ(lpips.size(0), error.size(0));
        error = error.add(lpips, config.perceptual_loss_weight);
    }
    at::Tensor const per_number = error.div(std::exp(config.logvar)).add(config.logvar);
    return per_number.sum().div(per_number.size(0));
}

at::Tensor kl_loss(Gaussian const& posterior, VaeLossConfig const& config) {
    return kl_divergence(posterior).mean().mul(config.kl_loss_weight);
}

}  // namespace osora::worker
