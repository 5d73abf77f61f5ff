// Configurations from JSON: what is read, and that what cannot work is named.
#include "worker/vae/vae_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

using testing::HasSubstr;

TEST(VaeConfig, DefaultsAreThePublishedModel) {
    EXPECT_EQ(parse_vae_pipeline_config("{}").value(), VaePipelineConfig{});
    EXPECT_EQ(VaePipelineConfig{}.spatial.factor(), 8);
    EXPECT_EQ(VaePipelineConfig{}.temporal.factor(), 4);
}

TEST(VaeConfig, ReadsPartsAndNull) {
    auto const config = parse_vae_pipeline_config(R"({
        "spatial": {"block_out_channels": [8, 16], "norm_num_groups": 4,
                    "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"]},
        "temporal": {"filters": 8, "num_groups": 4, "channel_multipliers": [1, 3],
                     "temporal_downsample": [true]},
        "micro_batch_size": null, "micro_frame_size": 9, "tile_sample_min_size": 16})")
                            .value();
    EXPECT_EQ(config.spatial.factor(), 2);
    EXPECT_EQ(config.temporal.factor(), 2);
    EXPECT_EQ(config.micro_batch_size, 0);
    EXPECT_EQ(config.micro_frame_size, 9);
    EXPECT_EQ(config.tile_sample_min_size, 16);
}

struct Refused {
    char const* json;
    char const* because;
};

class VaeConfigRefused : public testing::TestWithParam<Refused> {};

TEST_P(VaeConfigRefused, NamesWhatIsWrong) {
    auto const config = parse_vae_pipeline_config(GetParam().json);
    ASSERT_TRUE(config.has_error());
    EXPECT_THAT(config.error().message, HasSubstr(GetParam().because));
}

INSTANTIATE_TEST_SUITE_P(
    All, VaeConfigRefused,
    testing::Values(
        Refused{"[1]", "not a JSON object"}, Refused{"{", "config"},
        Refused{R"({"spatial": {"width": 3}})", "spatial: unknown key 'width'"},
        Refused{R"({"micro_batch_size": "four"})", "micro_batch_size: wrong type"},
        Refused{R"({"micro_batch_size": -1})", "micro_batch_size = -1"},
        Refused{R"({"spatial": {"up_block_types": ["AttnUpDecoderBlock2D"]}})",
                "up_block_types: only UpDecoderBlock2D is known"},
        Refused{R"({"spatial": {"norm_num_groups": 48}})", "128 channels % 48 groups"},
        Refused{R"({"spatial": {"block_out_channels": []}})", "block_out_channels: 0 levels"},
        Refused{R"({"spatial": {"latent_channels": 16}})", "the 2-D VAE gives 16"},
        Refused{R"({"temporal": {"temporal_downsample": [true]}})", "must have 3"},
        Refused{R"({"temporal": {"filters": 0}})", "filters = 0"},
        Refused{R"({"z_scale_2d": 0})", "z_scale_2d"},
        Refused{R"({"tile_sample_min_size": 20})", "no whole latents of 8 pixels"},
        Refused{R"({"tile_sample_min_size": 32, "tile_overlap_factor": 0.3})", "overlap 0.3"},
        Refused{R"({"tile_sample_min_size": 4})", "at least 8"}));

}  // namespace
}  // namespace osora::worker
