// Adapters of several trainers on one layer: weight + alpha / rank * B A, by hand.
#include "worker/model/weights/merge_adapter.hpp"

#include "base/files/files.hpp"
#include "tests/kit/temp_folder.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kRank = 2;

class MergeAdapter : public testing::Test {
protected:
    /// blocks.0.img_attn.qkv, (4, 3) of ones, with A and B of ones: each element is 1 + rank scale.
    [[nodiscard]] Result<float> merged(std::vector<NamedTensor> const& tensors,
                                       std::map<std::string, std::string> const& metadata = {}) {
        auto const file = folder_.path() / "adapter_model.safetensors";
        EXPECT_TRUE(save_safetensors(file, tensors, metadata).has_value());
        OSORA_TRY(auto const adapter, load_adapter(folder_.path()));
        notices_ = adapter.notices;
        OSORA_TRY(auto const weights,
                  merge_adapter({{"blocks.0.img_attn.qkv.weight", at::ones({4, 3})}}, adapter));
        return weights.front().tensor.select(0, 1).select(0, 2).item<float>();
    }
    [[nodiscard]] static std::vector<NamedTensor> pair(std::string const& layer,
                                                       std::string const& a, std::string const& b) {
        return {{layer + a, at::ones({kRank, 3})}, {layer + b, at::ones({4, kRank})}};
    }
    [[nodiscard]] std::vector<NamedTensor> kohya(double alpha) const {
        auto tensors =
            pair("lora_unet_blocks_0_img_attn_qkv", ".lora_down.weight", ".lora_up.weight");
        tensors.push_back({"lora_unet_blocks_0_img_attn_qkv.alpha", at::full({}, alpha)});
        return tensors;
    }
    void config(std::string const& text) {
        auto const file = folder_.path() / kAdapterConfigFile;
        ASSERT_TRUE(write_file_atomic(file, text).has_value());
    }
    tests::TempFolder folder_;
    std::vector<std::string> notices_;
};

TEST_F(MergeAdapter, KohyaHasAlphaInItsTensors) {
    EXPECT_EQ(merged(kohya(1)).value(), 1 + kRank * 0.5F);
    EXPECT_THAT(notices_, IsEmpty());
    EXPECT_EQ(merged(kohya(8)).value(), 1 + kRank * 4.0F);
}

TEST_F(MergeAdapter, DiffusersAndComfyUiTakeTheRankWhereAlphaIsNotSaid) {
    EXPECT_EQ(merged(pair("transformer.blocks.0.img_attn.qkv", ".lora_A.weight", ".lora_B.weight"))
                  .value(),
              1 + kRank * 1.0F);
    EXPECT_THAT(notices_, Not(IsEmpty()));
    EXPECT_EQ(merged(pair("diffusion_model.blocks.0.img_attn.qkv", ".lora_down.weight",
                          ".lora_up.weight"))
                  .value(),
              1 + kRank * 1.0F);
}

TEST_F(MergeAdapter, DiffusersMayKeepTheConfigInMetadata) {
    std::map<std::string, std::string> const metadata{
        {"lora_adapter_metadata", R"({"transformer.r": 2, "transformer.lora_alpha": 6})"}};
    EXPECT_EQ(merged(pair("transformer.blocks.0.img_attn.qkv", ".lora_A.weight", ".lora_B.weight"),
                     metadata)
                  .value(),
              1 + kRank * 3.0F);
}

TEST_F(MergeAdapter, PeftNeedsItsConfigWithTheRightRank) {
    auto const tensors =
        pair("base_model.model.blocks.0.img_attn.qkv", ".lora_A.weight", ".lora_B.weight");
    auto const without = merged(tensors);
    ASSERT_TRUE(without.has_error());
    EXPECT_THAT(without.error().message,
                AllOf(HasSubstr("adapter_config.json"), HasSubstr("lora_alpha is unknown")));
    config(R"({"r": 2, "lora_alpha": 8})");
    EXPECT_EQ(merged(tensors).value(), 1 + kRank * 4.0F);
    config(R"({"r": 4, "lora_alpha": 8})");
    EXPECT_THAT(merged(tensors).error().message, HasSubstr("has rank 2, the config says r = 4"));
}

TEST_F(MergeAdapter, OtherKindsAreNamed) {
    auto tensors = kohya(1);
    tensors.push_back({"lora_unet_blocks_0_img_attn_qkv.dora_scale", at::ones({4, 1})});
    EXPECT_THAT(merged(tensors).error().message, HasSubstr("DoRA"));
    EXPECT_THAT(merged(pair("transformer.blocks.0.attn.to_q", ".lora_A.weight", ".lora_B.weight"))
                    .error()
                    .message,
                HasSubstr("blocks.0.attn.to_q.weight is missing"));
}

}  // namespace
}  // namespace osora::worker
