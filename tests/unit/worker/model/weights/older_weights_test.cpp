// What opensora/utils/ckpt_utils.py (reparameter) does to weights of PixArt, by hand.
#include "worker/model/weights/older_weights.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"

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
    auto const weights = as_stdit3_weights(pixart, config).weights;
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
    EXPECT_TRUE(at::equal(find(as_stdit3_weights(pixart, config).weights, "y_embedder.y_embedding"),
                          captions.narrow(0, 0, 2)));
}

TEST(OlderWeights, DoNotChangeStdit3) {
    Stdit3Config config;
    config.model_max_length = 3;
    std::vector<NamedTensor> const own{{"spatial_blocks.0.attn.proj.bias", at::ones({2})},
                                       {"x_embedder.proj.weight", at::ones({8, 4, 1, 2, 2})},
                                       {"y_embedder.y_embedding", at::ones({3, 4})}};
    auto const weights = as_stdit3_weights(own, config).weights;
    ASSERT_EQ(weights.size(), own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_EQ(weights[i].name, own[i].name);
        EXPECT_TRUE(at::equal(weights[i].tensor, own[i].tensor));
    }
}

/// What PixArt has of a network: names of its blocks, 2-D patches, no part over frames.
std::vector<NamedTensor> pixart_of(Parameters const& network) {
    std::vector<NamedTensor> weights{{"pos_embed", at::ones({1, 4, 8})}};
    for (auto const& own : network.all()) {
        std::string name = own.name;
        auto const has = [&](std::string_view part) { return name.find(part) != name.npos; };
        if (has("temp") || has("_norm") || has("rope") || has("fps_") || has("fl_")) continue;
        if (has("csize_") || has("ar_emb")) continue;
        if (name.starts_with("spatial_")) name.erase(0, 8);
        at::Tensor values = at::ones(own.tensor.sizes());
        if (values.dim() == 5) values = values.squeeze(2);
        if (name == "y_embedder.y_embedding") values = values.narrow(0, 0, 3);
        weights.push_back({name, values});
    }
    return weights;
}

template <class Model, class Config, class Convert>
void expect_filled(Config const& config, Convert const& convert, std::string const& mixing) {
    Model model(config);
    model.initialise(1);
    at::Tensor const first = model.parameters().find(mixing)->tensor.clone();
    auto converted = convert(pixart_of(model.parameters()), config);
    EXPECT_TRUE(converted.older);
    EXPECT_TRUE(model.parameters().check(converted.weights).has_error());
    keep_initial(converted, model.parameters());
    auto const done = model.parameters().load(converted.weights);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_TRUE(at::equal(model.parameters().find(mixing)->tensor, first));
    EXPECT_TRUE(at::equal(model.parameters().find("t_block.1.bias")->tensor,
                          at::ones({6 * config.hidden_size})));
    ASSERT_EQ(converted.notices.size(), 3u);
    EXPECT_NE(converted.notices[1].find("continued with its last row"), std::string::npos);
    EXPECT_NE(converted.notices[2].find("rope.* (1)"), std::string::npos);
    EXPECT_NE(converted.notices[2].find("norms of q and k"), std::string::npos);
}

TEST(OlderWeights, KeepTheInitialValuesOfWhatPixartLacks) {
    expect_filled<Stdit3>(stdit3_config("stdit3-tiny").value(), as_stdit3_weights,
                          "temporal_blocks.1.attn.qkv.weight");
    expect_filled<Stdit2>(stdit2_config("stdit2-tiny").value(), as_stdit2_weights,
                          "blocks.1.attn_temp.qkv.weight");
}

TEST(OlderWeights, AreNotFilledUpWhereTheyMustBeWhole) {
    Stdit2 model(stdit2_config("stdit2-tiny").value());
    model.initialise(1);
    auto const error_without = [&](std::vector<NamedTensor> weights, std::string_view name) {
        std::erase_if(weights, [&](NamedTensor const& each) { return each.name == name; });
        auto converted = as_stdit2_weights(std::move(weights), model.config());
        keep_initial(converted, model.parameters());
        auto const checked = model.parameters().check(converted.weights);
        return checked.has_error() ? checked.error().message : std::string();
    };
    EXPECT_NE(error_without(pixart_of(model.parameters()), "blocks.1.mlp.fc1.bias")
                  .find("blocks.1.mlp.fc1.bias"),
              std::string::npos);
    // Some of the attention over frames: the rest is missing.
    auto some = pixart_of(model.parameters());
    some.push_back({"blocks.0.attn_temp.proj.bias", at::ones({model.config().hidden_size})});
    EXPECT_NE(error_without(std::move(some), "").find("blocks.0.attn_temp.proj.weight"),
              std::string::npos);
    // STDiT2's own weights are no older ones.
    EXPECT_NE(error_without(model.parameters().all(), "rope.freqs").find("rope.freqs"),
              std::string::npos);
    auto extra = pixart_of(model.parameters());
    extra.push_back({"blocks.9.mlp.fc1.bias", at::ones({4})});
    EXPECT_NE(error_without(std::move(extra), "").find("blocks.9.mlp.fc1.bias"), std::string::npos);
}

}  // namespace
}  // namespace osora::worker
