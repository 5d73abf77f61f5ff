// The VAE's loss and LPIPS against tensors that Open-Sora v1.2's VAELoss computed
// (tests/data/vae/README.md), and against closed forms.
#include "worker/vae/vae_loss.hpp"

#include "tests/parity/compare.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/vae/lpips.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr double kFp64 = 1e-6;  // fp64, of tensors that were rounded to fp32

struct LossCase {
    LossCase() {
        std::vector<NamedTensor> weights;
        for (auto const& entry : content.tensors)
            if (entry.name.starts_with("weights/"))
                weights.push_back({entry.name.substr(8), entry.tensor});
        parameters.load(weights).value();
    }
    at::Tensor tensor(std::string const& name) const { return content.find(name)->to(at::kDouble); }

    SafetensorsContent content =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/vae/loss.safetensors").value();
    Parameters parameters{at::TensorOptions(at::kDouble)};
    Lpips lpips{parameters, {{3, 4, 5, 6, 7}}};
    VaeLossConfig config{0.3, 0.02, 0.4};
};

at::Tensor frames_of(at::Tensor const& video) {
    return video.transpose(1, 2).flatten(0, 1);
}

TEST(VaeLoss, IsOpenSoras) {
    LossCase const test;
    at::Tensor const video = test.tensor("in/video");
    at::Tensor const recon = test.tensor("in/recon").requires_grad_(true);
    at::Tensor const moments = test.tensor("in/moments").requires_grad_(true);
    at::Tensor const distance = test.lpips(frames_of(video), frames_of(recon));
    EXPECT_LE(relative_error(distance, test.tensor("out/lpips")), kFp64);
    at::Tensor const nll = reconstruction_loss(video, recon, distance, test.config);
    EXPECT_LE(relative_error(nll.view({1}), test.tensor("out/nll")), kFp64);
    at::Tensor const kl = kl_loss(gaussian_of(moments), test.config);
    EXPECT_LE(relative_error(kl.view({1}), test.tensor("out/kl")), kFp64);
    nll.add(kl).backward();
    EXPECT_LE(relative_error(recon.grad(), test.tensor("grad_in/recon")), kFp64);
    EXPECT_LE(relative_error(moments.grad(), test.tensor("grad_in/moments")), kFp64);
    at::Tensor const plain = reconstruction_loss(video, recon, {}, test.config);
    EXPECT_LE(relative_error(plain.view({1}), test.tensor("out/nll_without_lpips")), kFp64);
}

TEST(VaeLoss, ClosedForms) {
    at::Tensor const video = at::zeros({2, 3, 4, 5, 6});
    at::Tensor const recon = at::full({2, 3, 4, 5, 6}, 0.5);
    VaeLossConfig config;
    EXPECT_NEAR(reconstruction_loss(video, recon, {}, config).item<double>(), 0.5 * 90, 1e-4);
    config.logvar = 2;
    EXPECT_NEAR(reconstruction_loss(video, recon, {}, config).item<double>(),
                90 * (0.5 / std::exp(2.0) + 2), 1e-3);
    config.kl_loss_weight = 0.5;
    Gaussian const posterior{at::full({2, 7}, 3.0), at::zeros({2, 7})};
    EXPECT_NEAR(kl_loss(posterior, config).item<double>(), 0.5 * 7 * 0.5 * 9, 1e-4);
}

TEST(Lpips, NamesOfTheFullNetwork) {
    Parameters parameters{at::TensorOptions(at::kMeta)};
    Lpips const lpips(parameters);
    std::int64_t numbers = 0;
    for (auto const& entry : parameters.all()) numbers += entry.tensor.numel();
    // VGG16's convolutions, a weight a channel, shift and scale.
    EXPECT_EQ(numbers, 14'714'688 + (64 + 128 + 256 + 512 + 512) + 6);
    EXPECT_EQ(parameters.find("net.slice5.28.weight")->tensor.sizes(),
              (std::vector<std::int64_t>{512, 512, 3, 3}));
    EXPECT_TRUE(parameters.trainable().empty());
}

TEST(Lpips, IsZeroForTheSameFramesAndSymmetric) {
    LossCase const test;
    at::Tensor const a = at::randn({2, 3, 16, 24}, at::kDouble);
    at::Tensor const b = at::randn({2, 3, 16, 24}, at::kDouble);
    EXPECT_EQ(test.lpips(a, a).abs().max().item<double>(), 0);
    EXPECT_LE(relative_error(test.lpips(a, b), test.lpips(b, a)), 1e-12);
    EXPECT_GT(test.lpips(a, b).min().item<double>(), 0);
}

}  // namespace
}  // namespace osora::worker
