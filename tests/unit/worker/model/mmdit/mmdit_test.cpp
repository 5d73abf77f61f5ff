// Sizes and initial values of MMDiT; its numbers are in tests/parity.
#include "worker/model/mmdit/mmdit.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

std::string message(std::string_view json) {
    auto const parsed = parse_mmdit_config(json);
    return parsed.has_error() ? parsed.error().message : "accepted";
}

TEST(MmditConfig, ReadsOpenSorasKeysAndNamesWhatIsWrong) {
    auto const config = parse_mmdit_config(R"({"hidden_size":48,"num_heads":2,
        "axes_dim":[4,10,10],"from_pretrained":null,"grad_ckpt_settings":[8,100]})");
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_EQ(config->hidden_size, 48);
    EXPECT_EQ(config->depth, 19);
    EXPECT_NE(message(R"({"dept":2})").find("did you mean depth?"), std::string::npos);
    EXPECT_NE(message(R"({"axes_dim":[4,10]})").find("axes_dim"), std::string::npos);
    EXPECT_NE(message(R"({"axes_dim":[16,56,54]})").find("sum to 126, a head has 128"),
              std::string::npos);
    EXPECT_NE(message(R"({"axes_dim":[15,57,56]})").find("must be even"), std::string::npos);
    EXPECT_NE(message(R"({"num_heads":7})").find("hidden_size 3072 % num_heads 7"),
              std::string::npos);
    EXPECT_NE(message(R"({"depth":100000})").find("depth = 100000"), std::string::npos);
    EXPECT_NE(message("[1"), "accepted");
    EXPECT_NE(mmdit_config("mmdit").error().message.find("mmdit-tiny"), std::string::npos);
}

TEST(MmditConfig, FusedNamesComeWithInterleavedRopeUnlessSaidOtherwise) {
    EXPECT_FALSE(parse_mmdit_config(R"({"fused_qkv":true})")->use_liger_rope);
    EXPECT_TRUE(parse_mmdit_config(R"({"fused_qkv":false})")->use_liger_rope);
    EXPECT_TRUE(parse_mmdit_config(R"({"fused_qkv":true,"use_liger_rope":true})")->use_liger_rope);
}

TEST(MmditConfig, JsonComesBack) {
    for (auto const& name : mmdit_names()) {
        auto const config = mmdit_config(name).value();
        EXPECT_EQ(parse_mmdit_config(to_json(config)).value(), config) << name;
    }
}

TEST(Mmdit, StartsAsItsLinearLayersDo) {
    MmditConfig config = mmdit_config("mmdit-tiny").value();
    config.cond_embed = true;
    Mmdit a(config), b(config), c(config);
    a.initialise(1);
    b.initialise(1);
    c.initialise(2);
    EXPECT_TRUE(at::equal(a.parameters().find("img_in.weight")->tensor,
                          b.parameters().find("img_in.weight")->tensor));
    EXPECT_FALSE(at::equal(a.parameters().find("img_in.weight")->tensor,
                           c.parameters().find("img_in.weight")->tensor));
    for (auto const& [name, tensor, kind] : a.parameters().all()) {
        double const largest = tensor.abs().max().item<double>();
        if (name.ends_with("_norm.scale")) {
            EXPECT_TRUE(at::equal(tensor, at::ones(tensor.sizes()))) << name;
        } else if (name.starts_with("cond_in.")) {
            EXPECT_EQ(largest, 0) << name;
        } else {
            auto const weight = name.substr(0, name.rfind('.')) + ".weight";
            auto const inputs = static_cast<double>(a.parameters().find(weight)->tensor.size(1));
            EXPECT_LE(largest, 1 / std::sqrt(inputs)) << name;
            EXPECT_GE(largest, 0.8 / std::sqrt(inputs)) << name;
        }
    }
}

}  // namespace
}  // namespace osora::worker
