// MMDiT against tensors that Open-Sora v2.0 itself computed (tests/data/parity/README.md). What the
// file does not hold (interleaved rope, fused names, guidance, cond) is held against the same
// numbers by weights that must give them.
#include "compare.hpp"
#include "recorded.hpp"
#include "worker/model/mmdit/mmdit.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <map>

namespace osora::worker {
namespace {

using Weights = std::map<std::string, at::Tensor>;

class MmditParity : public testing::Test {
protected:
    [[nodiscard]] at::Tensor tensor(std::string const& name) const {
        auto const* found = content_.find(name);
        return found == nullptr ? at::Tensor() : found->clone();
    }
    [[nodiscard]] MmditConfig config() const {
        return parse_mmdit_config(content_.metadata.at("config")).value();
    }
    [[nodiscard]] Weights weights() const {
        Weights weights;
        for (auto const& each : recorded_weights(content_)) weights[each.name] = each.tensor;
        return weights;
    }
    [[nodiscard]] MmditInput input() const {
        return {.img = tensor("in/img"),
                .img_ids = tensor("in/img_ids"),
                .txt = tensor("in/txt"),
                .txt_ids = tensor("in/txt_ids"),
                .timesteps = tensor("in/timesteps"),
                .y_vec = tensor("in/y_vec"),
                .cond = {},
                .guidance = {}};
    }
    static Mmdit model(MmditConfig const& config, Weights const& weights,
                       at::ScalarType type = at::kFloat) {
        Mmdit model(config, type);
        std::vector<NamedTensor> values;
        for (auto const& [name, value] : weights) values.push_back({name, value});
        auto const loaded = model.parameters().load(values);
        EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
        return model;
    }
    void expect_the_same(Mmdit const& model, MmditInput const& input) const {
        at::NoGradGuard const no_grad;
        EXPECT_LE(relative_error(model.forward(input), tensor("out/out")), kFp32Output);
    }

    SafetensorsContent content_ = recorded("parity/F1_mmdit_t2v");
};

TEST_F(MmditParity, ForwardAndGradients) {
    auto const net = model(config(), weights());
    auto given = input();
    given.img.set_requires_grad(true);
    auto const out = net.forward(given);
    EXPECT_LE(relative_error(out, tensor("out/out")), kFp32Output);
    auto const loss = out.mul(tensor("in/loss_weight")).sum();
    loss.backward();
    EXPECT_LE(relative_error(loss.view({1}), tensor("out/loss")), kFp32Loss);
    EXPECT_LE(relative_error(given.img.grad(), tensor("grad_in/img")), kFp32Gradient);
    for (auto const& entry : net.parameters().all())
        EXPECT_LE(relative_error(entry.tensor.grad(), tensor("grad/" + entry.name)), kFp32Gradient)
            << entry.name;
}

/// Rows (or numbers) i and i + n / 2 of each head of n become rows 2i and 2i + 1.
at::Tensor as_pairs(at::Tensor const& values, std::int64_t head_dim) {
    auto shape = values.sizes().vec();
    auto split = shape;
    split[0] = shape[0] / head_dim;
    split.insert(split.begin() + 1, {2, head_dim / 2});
    return values.reshape(split).transpose(1, 2).reshape(shape);
}

TEST_F(MmditParity, InterleavedRopeAndFusedNames) {
    MmditConfig fused = config();
    fused.fused_qkv = true;
    fused.use_liger_rope = false;
    std::int64_t const head = fused.head_dim();
    Weights from = weights(), to;
    auto const join = [&](std::string const& block, std::string const& into,
                          std::string const& last) {
        for (std::string const kind : {".weight", ".bias"}) {
            auto q = from.extract(block + "q_proj" + kind).mapped();
            auto k = from.extract(block + "k_proj" + kind).mapped();
            auto v = from.extract(block + last + kind).mapped();
            to[block + into + kind] = at::cat({as_pairs(q, head), as_pairs(k, head), v});
        }
        for (std::string const kind : {"query", "key"}) {
            std::string const name = block + "norm." + kind + "_norm.scale";
            to[name] = as_pairs(from.extract(name).mapped(), head);
        }
    };
    for (std::string const i : {"0.", "1."}) {
        for (std::string const stream : {"img_attn.", "txt_attn."})
            join("double_blocks." + i + stream, "qkv", "v_proj");
        join("single_blocks." + i, "linear1", "v_mlp");
    }
    to.merge(from);
    expect_the_same(model(fused, to), input());
}

TEST_F(MmditParity, GuidanceIsEmbeddedAsTimeIs) {
    MmditConfig guided = config();
    guided.guidance_embed = true;
    Weights values = weights();
    for (std::string const layer : {"in_layer.", "out_layer."}) {
        for (std::string const kind : {"weight", "bias"}) {
            auto& time = values.at("time_in." + layer + kind);
            values["guidance_in." + layer + kind] = time;
            if (layer == "out_layer.") time = at::zeros(time.sizes());
        }
    }
    auto given = input();
    std::swap(given.guidance, given.timesteps);
    given.timesteps = at::zeros(given.guidance.sizes());
    expect_the_same(model(guided, values), given);
}

TEST_F(MmditParity, CondIsAddedToTheImage) {
    MmditConfig with_cond = config();
    with_cond.cond_embed = true;
    Weights values = weights();
    auto& weight = values.at("img_in.weight");
    values["cond_in.weight"] = at::cat({weight, at::zeros({weight.size(0), 4})}, 1);
    values["cond_in.bias"] = at::zeros({weight.size(0)});
    weight = at::zeros(weight.sizes());
    auto given = input();
    given.cond = at::cat({given.img, at::zeros({2, 18, 4}).add(3)}, 2);
    given.img = given.img.mul(5);
    expect_the_same(model(with_cond, values), given);
}

/// Against fp32 arithmetic on the same rounded weights, inputs and times.
TEST_F(MmditParity, Bf16StaysNear) {
    at::NoGradGuard const no_grad;
    auto const rounded = [](at::Tensor const& t) { return t.to(at::kBFloat16).to(at::kFloat); };
    Weights values = weights();
    for (auto& [name, value] : values) value = rounded(value);
    auto given = input();
    for (at::Tensor* tensor : {&given.img, &given.txt, &given.y_vec}) *tensor = rounded(*tensor);
    auto const out = model(config(), values, at::kBFloat16).forward(given);
    EXPECT_EQ(out.scalar_type(), at::kBFloat16);
    given.timesteps = rounded(rounded(given.timesteps).mul(1000)).div(1000);
    EXPECT_LE(relative_error(out, model(config(), values).forward(given)), 0.015);
}

}  // namespace
}  // namespace osora::worker
