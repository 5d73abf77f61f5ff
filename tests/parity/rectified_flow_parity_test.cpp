// Rectified flow against tensors that Open-Sora v1.2 itself computed (tests/data/parity/README.md).
#include "compare.hpp"
#include "recorded.hpp"
#include "worker/train/objective/rectified_flow.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

std::vector<double> numbers(SafetensorsContent const& content, std::string const& name) {
    at::Tensor const values = content.find(name)->to(at::kDouble).contiguous();
    auto const* first = values.const_data_ptr<double>();
    return {first, first + values.numel()};
}

void expect_close(std::vector<double> const& actual, std::vector<double> const& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], kRecordedFp32 * 1000) << i;  // t is in 0..1000
}

TEST(RectifiedFlowParity, TimestepTransform) {
    auto const content = recorded("parity/B1_timestep_transform");
    for (int batch = 0; batch < 7; ++batch) {
        auto const in = "in/" + std::to_string(batch) + "/";
        auto const height = numbers(content, in + "height");
        auto const width = numbers(content, in + "width");
        auto const frames = numbers(content, in + "num_frames");
        auto const t = numbers(content, in + "t");
        RectifiedFlowConfig config;
        config.transform_scale = numbers(content, in + "scale")[0];
        std::vector<double> shifted;
        for (std::size_t i = 0; i < t.size(); ++i) {
            VideoSize const size{height[i], width[i], static_cast<std::int64_t>(frames[i])};
            shifted.push_back(timestep_transform(config, t[i], size, frames[0] == 1));
        }
        expect_close(shifted, numbers(content, "out/" + std::to_string(batch) + "/t"));
    }
}

TEST(RectifiedFlowParity, TimesFromDraws) {
    auto const content = recorded("parity/B5_timestep_sampling");
    VideoSize const size{numbers(content, "in/meta/height")[0],
                         numbers(content, "in/meta/width")[0],
                         static_cast<std::int64_t>(numbers(content, "in/meta/num_frames")[0])};
    struct Variant {
        std::string name, draw;
        TimestepSampling sampling;
        double transform_scale;  // 0: no transform
    };
    // The stored normals already hold loc and scale.
    for (auto const& [name, draw, sampling, scale] :
         {Variant{"uniform", "uniform", TimestepSampling::uniform, 0},
          Variant{"uniform_transform", "uniform", TimestepSampling::uniform, 1},
          Variant{"uniform_transform_scale2", "uniform", TimestepSampling::uniform, 2},
          Variant{"logit_normal", "normal", TimestepSampling::logit_normal, 0},
          Variant{"logit_normal_loc_scale", "normal", TimestepSampling::logit_normal, 0},
          Variant{"logit_normal_transform", "normal", TimestepSampling::logit_normal, 1}}) {
        SCOPED_TRACE(name);
        RectifiedFlowConfig config;
        config.sampling = sampling;
        config.transform_scale = scale;
        std::vector<double> times;
        for (double const value : numbers(content, "in/" + name + "/" + draw)) {
            double const t = timestep_from_draw(config, value);
            times.push_back(scale > 0 ? timestep_transform(config, t, size, false) : t);
        }
        expect_close(times, numbers(content, "out/" + name + "/t"));
    }
}

TEST(RectifiedFlowParity, AddNoise) {
    auto const content = recorded("parity/B3_add_noise");
    for (std::string const kind : {"", "_int"}) {
        auto const x_t = add_noise({}, *content.find("in/original_samples"),
                                   *content.find("in/noise"), *content.find("in/timesteps" + kind));
        EXPECT_LE(relative_error(x_t, *content.find("out/x_t" + kind)), kFp32Output);
    }
}

TEST(RectifiedFlowParity, TrainingLosses) {
    auto const content = recorded("parity/B4_training_losses");
    for (std::string const variant : {"nomask", "mask"}) {
        SCOPED_TRACE(variant);
        auto const in = [&](std::string const& name) {
            auto const* found = content.find("in/" + variant + "/" + name);
            return found == nullptr ? at::Tensor() : *found;
        };
        auto const x_t = add_noise({}, in("x_start"), in("noise"), in("t"), in("mask"));
        EXPECT_LE(relative_error(x_t, *content.find("out/" + variant + "/x_t")), kFp32Output);
        auto const losses = flow_losses(in("model_output"), in("x_start"), in("noise"), in("mask"));
        EXPECT_LE(relative_error(losses, *content.find("out/" + variant + "/loss")), kFp32Output);
    }
    EXPECT_TRUE(content.find("in/mask/mask") != nullptr);
}

TEST(RectifiedFlow, PixelSpaceCountsEveryFrame) {
    RectifiedFlowConfig config;
    config.use_timestep_transform = true;
    config.base_area_px = 64 * 64;
    config.latent_frames = LatentFrames::pixels;
    SampleRng const rng(3);
    double const image = sample_timestep(config, {64, 64, 1}, rng);
    double const video = sample_timestep(config, {64, 64, 9}, rng);
    EXPECT_NEAR(image, SampleRng(3).uniform() * 1000, 1e-9);                // ratio 1
    EXPECT_NEAR(video / (1000 - video), 3 * image / (1000 - image), 1e-9);  // ratio sqrt(9)
}

}  // namespace
}  // namespace osora::worker
