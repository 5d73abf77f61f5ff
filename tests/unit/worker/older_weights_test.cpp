// What opensora/utils/ckpt_utils.py (reparameter) does to weights of PixArt, by hand.
#include "worker/model/older_weights.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

at::Tensor find(std::vector<NamedTensor> const& weights, std::string_view name) {
    auto const found = std::ranges::find(weights, name, &NamedTensor::name);
    return found == weights.end() ? at::Tensor() : found->tensor;
}

TEST(OlderWeights, TakeTheNamesAndShapesOfStdit3) {
    Stdit3Config config;
    config.model_max_length = 5;
    at::Tensor const patches = at::arange(8 * 4 * 2 * 2).view({8, 4, 2, 2});
    at::Tensor const captions = at::arange(3 * 4).view({3, 4});
    std::vector<NamedTensor> const pixart{{"blocks.11.attn.qkv.weight", at::ones({6, 2})},
                                          {"x_embedder.proj.weight", patches},
                                          {"y_embedder.y_embedding", captions},
                                          {"pos_embed", at::ones({1, 4})},
                                          {"pos_embed_temporal", at::ones({1, 4})},
                                          {"final_layer.linear.bias", at::ones({3})}};
    auto const weights = as_stdit3_weights(pixart, config);
    EXPECT_EQ(weights.size(), 4u);
    EXPECT_TRUE(find(weights, "spatial_blocks.11.attn.qkv.weight").defined());
    EXPECT_TRUE(find(weights, "final_layer.linear.bias").defined());
    EXPECT_EQ(find(weights, "x_embedder.proj.weight").sizes(),
              (std::vector<std::int64_t>{8, 4, 1, 2, 2}));
    EXPECT_TRUE(at::equal(find(weights, "x_embedder.proj.weight").squeeze(2), patches));
    auto const longer = find(weights, "y_embedder.y_embedding");
    ASSERT_EQ(longer.size(0), 5);
    EXPECT_TRUE(at::equal(longer.narrow(0, 0, 3), captions));
    EXPECT_TRUE(at::equal(longer[4], captions[2]));
    config.model_max_length = 2;
    EXPECT_TRUE(at::equal(find(as_stdit3_weights(pixart, config), "y_embedder.y_embedding"),
                          captions.narrow(0, 0, 2)));
}

TEST(OlderWeights, LeaveStdit3AsItIs) {
    Stdit3Config config;
    config.model_max_length = 3;
    std::vector<NamedTensor> const own{{"spatial_blocks.0.attn.proj.bias", at::ones({2})},
                                       {"x_embedder.proj.weight", at::ones({8, 4, 1, 2, 2})},
                                       {"y_embedder.y_embedding", at::ones({3, 4})}};
    auto const weights = as_stdit3_weights(own, config);
    ASSERT_EQ(weights.size(), own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(weights[i].name, own[i].name);
        EXPECT_TRUE(at::equal(weights[i].tensor, own[i].tensor));
    }
}

}  // namespace
}  // namespace osora::worker
