// Names of the tensors of adapters as peft, diffusers, kohya's sd-scripts and ComfyUI write them.
#include "worker/model/weights/adapter_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

using testing::HasSubstr;

void expect_name(std::string_view name, std::string_view layer, AdapterPart part,
                 bool underscored = false) {
    auto const found = adapter_name(name);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found->layer, layer) << name;
    EXPECT_EQ(found->part, part) << name;
    EXPECT_EQ(found->underscored, underscored) << name;
}

TEST(AdapterNames, OfTheTrainersThatPeopleUse) {
    expect_name("base_model.model.blocks.0.attn.qkv.lora_A.weight", "blocks.0.attn.qkv",
                AdapterPart::a);
    expect_name("blocks.0.attn.qkv.lora_B.default.weight", "blocks.0.attn.qkv", AdapterPart::b);
    expect_name("transformer.double_blocks.0.img_attn.qkv.lora_B.weight",
                "double_blocks.0.img_attn.qkv", AdapterPart::b);
    expect_name("diffusion_model.single_blocks.3.linear1.lora_down.weight",
                "single_blocks.3.linear1", AdapterPart::a);
    expect_name("lora_unet_double_blocks_0_img_attn_qkv.lora_up.weight",
                "double_blocks_0_img_attn_qkv", AdapterPart::b, true);
    expect_name("lora_unet_double_blocks_0_img_attn_qkv.alpha", "double_blocks_0_img_attn_qkv",
                AdapterPart::alpha, true);
    expect_name("unet.down_blocks.0.attn1.processor.to_q_lora.down.weight",
                "down_blocks.0.attn1.to_q", AdapterPart::a);
    expect_name("unet.down_blocks.0.attn1.to_k.lora.up.weight", "down_blocks.0.attn1.to_k",
                AdapterPart::b);
}

TEST(AdapterNames, OtherKindsAreRefusedByName) {
    auto const refused = [](std::string_view name) {
        auto const found = adapter_name(name);
        return found.has_error() ? found.error().message : "taken";
    };
    EXPECT_THAT(refused("lora_unet_x.dora_scale"), HasSubstr("DoRA"));
    EXPECT_THAT(refused("lora_unet_x.hada_w1_a"), HasSubstr("LoHa"));
    EXPECT_THAT(refused("lora_unet_x.lokr_w1"), HasSubstr("LoKr"));
    EXPECT_THAT(refused("lora_unet_x.lora_mid.weight"), HasSubstr("LoCon"));
    EXPECT_THAT(refused("x.oft_blocks"), HasSubstr("OFT"));
    EXPECT_THAT(refused("diffusion_model.x.diff_b"), HasSubstr("full difference"));
    EXPECT_THAT(refused("lora_te1_text_model_q_proj.lora_up.weight"), HasSubstr("text encoder"));
    EXPECT_THAT(refused("x.weight"), HasSubstr("is not part of a LoRA adapter"));
}

}  // namespace
}  // namespace osora::worker
