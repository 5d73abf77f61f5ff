// The VAE pipeline without golden data: chunks, closed forms, initial values, frozen parts.
#include "worker/vae/vae_pipeline.hpp"

#include "tests/parity/compare.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/vae/gaussian.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace osora::worker {
namespace {

VaePipelineConfig small_config() {
    VaePipelineConfig config;
    config.spatial.block_out_channels = {4, 8};
    config.spatial.norm_num_groups = 2;
    config.spatial.layers_per_block = 1;
    config.temporal.filters = 4;
    config.temporal.num_groups = 2;
    config.temporal.num_res_blocks = 1;
    config.micro_batch_size = 0;
    return config;
}

VaePipeline pipeline(VaePipelineConfig const& config, std::uint64_t seed = 3) {
    VaePipeline vae(config);
    vae.initialise(seed);
    return vae;
}

TEST(VaePipeline, MicroBatchesChangeNothing) {
    at::NoGradGuard const no_grad;
    at::Tensor const x = at::randn({2, 3, 7, 8, 12});
    auto config = small_config();
    auto const whole = pipeline(config).encode(x);
    auto const decoded = pipeline(config).decode(whole.z, 7);
    for (std::int64_t const micro_batch : {1, 4, 5, 14, 99}) {
        config.micro_batch_size = micro_batch;
        auto const vae = pipeline(config);
        auto const chunked = vae.encode(x);
        EXPECT_LE(relative_error(chunked.x_z, whole.x_z), kFp32Order) << micro_batch;
        EXPECT_LE(relative_error(chunked.z, whole.z), kFp32Order) << micro_batch;
        EXPECT_LE(relative_error(vae.decode(whole.z, 7).x, decoded.x), kFp32Order) << micro_batch;
    }
}

TEST(VaePipeline, ClipsOfABatchAreIndependent) {
    at::NoGradGuard const no_grad;
    at::Tensor const x = at::randn({3, 3, 5, 8, 8});
    auto config = small_config();
    config.micro_batch_size = 4;  // chunks cross from clip to clip
    auto const vae = pipeline(config);
    auto const all = vae.encode(x);
    for (std::int64_t clip = 0; clip < 3; ++clip) {
        auto const one = vae.encode(x.narrow(0, clip, 1));
        EXPECT_LE(relative_error(one.z, all.z.narrow(0, clip, 1)), kFp32Order);
    }
}

TEST(VaePipeline, ChunksOfFramesAreEncodedOnTheirOwn) {
    at::NoGradGuard const no_grad;
    at::Tensor const x = at::randn({1, 3, 7, 8, 8});
    auto config = small_config();
    config.micro_frame_size = 5;
    auto const vae = pipeline(config);
    auto const encoded = vae.encode(x);
    EXPECT_EQ(encoded.z.size(2), 3);  // 5 -> 2, 2 -> 1
    EXPECT_LE(relative_error(encoded.z.narrow(2, 2, 1), vae.encode(x.narrow(2, 5, 2)).z),
              kFp32Order);
    EXPECT_EQ(vae.decode(encoded.z, 7).x.sizes(), x.sizes());
}

TEST(VaePipeline, AClipIsNotSeenBeforeItHappens) {
    // A causal convolution does not look ahead; group norms do, over the whole chunk. So each of
    // them is fed its own chunk, and frames behind it change nothing.
    at::NoGradGuard const no_grad;
    auto config = small_config();
    config.micro_frame_size = 4;
    auto const vae = pipeline(config);
    at::Tensor const x = at::randn({1, 3, 8, 8, 8});
    at::Tensor const other = x.clone();
    other.narrow(2, 4, 4).normal_();
    EXPECT_LE(relative_error(vae.encode(x).z.narrow(2, 0, 1), vae.encode(other).z.narrow(2, 0, 1)),
              kFp32Order);
}

TEST(VaePipeline, InitialValuesAreThoseOfPyTorch) {
    auto const vae = pipeline(small_config());
    auto const again = pipeline(small_config());
    auto const other = pipeline(small_config(), 4);
    for (std::size_t i = 0; i < vae.parameters().all().size(); ++i) {
        auto const& [name, tensor, kind] = vae.parameters().all()[i];
        EXPECT_TRUE(tensor.equal(again.parameters().all()[i].tensor)) << name;
        if (kind == TensorKind::buffer || name.find("norm") != std::string::npos) continue;
        EXPECT_FALSE(tensor.equal(other.parameters().all()[i].tensor)) << name;
    }
    auto const tensor = [&](std::string const& name) {
        return vae.parameters().find(name)->tensor;
    };
    double const limit = 1 / std::sqrt(4 * 27);  // of 4 x 3 x 3 x 3 inputs
    at::Tensor const weight = tensor("temporal_vae.encoder.conv_blocks.1.conv.weight");
    double const fan_in = static_cast<double>(weight.size(1)) * 27;
    EXPECT_LE(weight.abs().max().item<double>(), 1 / std::sqrt(fan_in));
    EXPECT_NEAR(weight.std().item<double>(), 1 / std::sqrt(3 * fan_in), 0.1 / std::sqrt(fan_in));
    EXPECT_LE(tensor("temporal_vae.encoder.conv_in.conv.weight").abs().max().item<double>(), limit);
    EXPECT_EQ(tensor("temporal_vae.encoder.norm1.weight").mean().item<double>(), 1);
    EXPECT_NEAR(tensor("scale").view(-1)[3].item<double>(), 3.06, 1e-6);
    EXPECT_NEAR(tensor("shift").view(-1)[0].item<double>(), -0.1, 1e-6);
}

TEST(VaePipeline, RunsInBf16) {
    at::NoGradGuard const no_grad;
    auto const exact = pipeline(small_config());
    VaePipeline half(small_config(), at::TensorOptions(at::kBFloat16));
    half.parameters().load(exact.parameters().all()).value();
    at::Tensor const x = at::randn({1, 3, 5, 8, 8});
    VaeNoise const noise{at::randn({5, 4, 4, 4}), at::randn({1, 4, 2, 4, 4})};
    auto const encoded = half.encode(x, noise);
    EXPECT_EQ(encoded.z.scalar_type(), at::kBFloat16);
    EXPECT_LE(relative_error(encoded.z, exact.encode(x, noise).z), 0.05);
    auto const decoded = half.decode(encoded.z, 5).x;
    EXPECT_EQ(decoded.scalar_type(), at::kBFloat16);
    EXPECT_LE(relative_error(decoded, exact.decode(encoded.z, 5).x), 0.05);
}

TEST(VaePipeline, IsTheSameAfterSavingAndLoading) {
    at::NoGradGuard const no_grad;
    auto const vae = pipeline(small_config());
    auto const path = std::filesystem::path(testing::TempDir()) / "osora_vae.safetensors";
    save_safetensors(path, vae.parameters().all()).value();
    VaePipeline loaded(small_config());
    loaded.parameters().load(load_safetensors(path).value().tensors).value();
    std::filesystem::remove(path);
    at::Tensor const x = at::randn({1, 3, 5, 8, 8});
    EXPECT_TRUE(loaded.encode(x).z.equal(vae.encode(x).z));
}

TEST(VaePipeline, AFrozen2dVaeHasNoGradient) {
    auto config = small_config();
    config.freeze_vae_2d = true;
    auto const vae = pipeline(config);
    auto const encoded = vae.encode(at::randn({1, 3, 4, 8, 8}));
    EXPECT_FALSE(encoded.x_z.requires_grad());
    encoded.z.sum().backward();
    for (auto const& [name, tensor, kind] : vae.parameters().all()) {
        bool const encoder = name.starts_with("temporal_vae.encoder.");
        EXPECT_EQ(tensor.grad().defined(), encoder || name.starts_with("temporal_vae.quant"))
            << name;
    }
}

TEST(Gaussian, KlHasItsClosedForm) {
    Gaussian const gaussian{at::full({2, 3, 4}, 0.5), at::full({2, 3, 4}, std::log(2.0))};
    double const expected = 12 * 0.5 * (0.25 + 2 - 1 - std::log(2.0));
    EXPECT_NEAR(kl_divergence(gaussian)[1].item<double>(), expected, 1e-5);
    EXPECT_EQ(kl_divergence({at::zeros({1, 5}), at::zeros({1, 5})}).item<double>(), 0);
}

TEST(Gaussian, LogvarIsClamped) {
    at::Tensor const moments = at::zeros({1, 2, 2});
    moments[0][1][0] = -50.0;
    moments[0][1][1] = 50.0;
    auto const gaussian = gaussian_of(moments);
    EXPECT_EQ(gaussian.logvar.view(-1)[0].item<double>(), -30);
    EXPECT_EQ(gaussian.logvar.view(-1)[1].item<double>(), 20);
    EXPECT_TRUE(sample(gaussian, {}).equal(gaussian.mean));
}

TEST(Gaussian, GradientOfKl) {  // d/d mean = mean, d/d logvar = (exp(logvar) - 1) / 2
    at::Tensor const mean = at::randn({2, 6}).requires_grad_(true);
    at::Tensor const logvar = at::randn({2, 6}).requires_grad_(true);
    kl_divergence({mean, logvar}).sum().backward();
    EXPECT_LE(relative_error(mean.grad(), mean), kFp32Order);
    EXPECT_LE(relative_error(logvar.grad(), logvar.detach().exp().sub(1).div(2)), kFp32Order);
}

}  // namespace
}  // namespace osora::worker
