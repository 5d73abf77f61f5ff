// VideoGPT's VQ-VAE against its own numbers, and the objective around it.
#include "worker/vae_training/vqvae_objective.hpp"

#include "tests/parity/compare.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/optimizer.hpp"

#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::worker {
namespace {

plan::VqvaeSection tiny_vqvae() {
    plan::VqvaeSection sizes;
    sizes.n_codes = 12;
    sizes.embedding_dim = 6;
    sizes.n_hiddens = 8;
    sizes.n_res_layers = 1;
    sizes.downsample_frames = 2;
    return sizes;
}

struct Golden {
    SafetensorsContent content =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/vae/vqvae.safetensors").value();
    at::Tensor tensor(std::string const& name) const { return *content.find(name); }
};

/// Its weights; norms and codebook as a new network has them.
Vqvae golden_model(Golden const& golden, at::ScalarType type) {
    Vqvae model(tiny_vqvae(), at::TensorOptions(type));
    model.initialise(1);
    at::NoGradGuard const no_grad;
    for (auto const& [name, tensor, kind] : model.parameters().all())
        if (auto const* given = golden.content.find("weights/" + name)) tensor.copy_(*given);
    return model;
}

struct Step {
    Quantized codes;
    at::Tensor x_rec, loss;
    NormLog log;
};

Step first_step(Vqvae& model, at::Tensor const& x) {
    Step step;
    at::Tensor const z = model.encode(x, true, &step.log);
    model.codebook().initialise(z.detach().movedim(1, -1).flatten(0, -2).narrow(0, 0, 12));
    step.codes = model.codebook().quantize(z);
    step.x_rec = model.decode(step.codes.embeddings, true, &step.log);
    step.loss = step.x_rec.sub(x).square().mean().div(0.06).add(step.codes.commitment_loss);
    return step;
}

class VqvaeParity : public testing::TestWithParam<at::ScalarType> {};

TEST_P(VqvaeParity, AStepIsVideoGpts) {  // tests/data/vae/README.md
    Golden const golden;
    bool const exact = GetParam() == at::kDouble;
    double const outputs = exact ? kExact : kFp32ConvOutput;
    double const gradients = exact ? kExact : kFp32ConvGradient;
    Vqvae model = golden_model(golden, GetParam());
    at::Tensor const x = golden.tensor("in/x").to(GetParam());
    Step const step = first_step(model, x);
    EXPECT_TRUE(step.codes.codes.equal(golden.tensor("out/codes")));
    EXPECT_LE(relative_error(step.x_rec, golden.tensor("out/x_rec")), outputs);
    EXPECT_LE(relative_error(step.loss.reshape(1), golden.tensor("out/loss")), outputs);
    step.loss.backward();
    double largest = 0;
    for (auto const& each : golden.content.tensors)
        if (each.name.starts_with("grad/"))
            largest = std::max(largest, each.tensor.norm().item<double>());
    for (auto const& [name, tensor, kind] : model.parameters().all()) {
        if (kind != TensorKind::trainable) continue;
        at::Tensor const expected = golden.tensor("grad/" + name).to(at::kDouble);
        double const difference = tensor.grad().sub(expected).norm().item<double>();
        // A bias in front of a norm has none: what is there is rounding of its neighbours.
        EXPECT_LE(difference, gradients * std::max(expected.norm().item<double>(), 2e-2 * largest))
            << name;
    }
    (void)model.codebook().update(
        step.codes.counts,
        model.encode(x, true, nullptr).movedim(1, -1).flatten(0, -2).narrow(0, 0, 12));
    model.move_norms(step.log);
    for (auto const& each : golden.content.tensors) {
        if (!each.name.starts_with("after/")) continue;
        EXPECT_LE(relative_error(model.parameters().find(each.name.substr(6))->tensor, each.tensor),
                  outputs)
            << each.name;
    }
}
INSTANTIATE_TEST_SUITE_P(All, VqvaeParity, testing::Values(at::kFloat, at::kDouble));

TEST(Vqvae, NamesAreVideoGpts) {
    Golden const golden;
    Vqvae const model(tiny_vqvae());
    std::size_t codebook = 0;
    for (auto const& each : model.parameters().all()) {
        if (each.name.starts_with("codebook.")) {
            ++codebook;
            continue;
        }
        auto const* theirs = golden.content.find("weights/" + each.name);
        ASSERT_NE(theirs, nullptr) << each.name;
        EXPECT_EQ(theirs->sizes(), each.tensor.sizes()) << each.name;
    }
    EXPECT_EQ(codebook, 3u);
}

TEST(Vqvae, SizesThatCannotWorkAreNamed) {
    auto sizes = tiny_vqvae();
    sizes.downsample_frames = 3;
    EXPECT_EQ(check_vqvae(sizes).error().message,
              "vqvae.downsample_frames = 3: must be a power of two; nearest valid: 2, 4");
    sizes = tiny_vqvae();
    sizes.n_hiddens = 9;
    EXPECT_NE(check_vqvae(sizes).error().message.find("nearest valid: 8, 10"), std::string::npos);
}

MicroBatch batch_of(at::Tensor const& x) {
    MicroBatch batch;
    batch.x = x;
    batch.size = {static_cast<double>(x.size(3)), static_cast<double>(x.size(4)), x.size(2)};
    for (std::int64_t i = 0; i < x.size(0); ++i)
        batch.samples.push_back({.id = static_cast<std::uint64_t>(i), .epoch = 0, .fps = 24});
    return batch;
}

VqvaeObjective objective(std::int64_t micro_frame_size) {
    Vqvae model(tiny_vqvae());
    model.initialise(7);
    return {std::move(model), {.seed = 7, .micro_frame_size = micro_frame_size, .group = {}}};
}

std::vector<at::Tensor> gradients(VqvaeObjective& objective) {
    std::vector<at::Tensor> found;
    for (auto const& each : objective.parameters().trainable()) found.push_back(each.grad());
    return found;
}

// A clip that is cut trains as its parts side by side would, but for the norms' statistics: with
// one part in a micro-batch they are the same.
TEST(VqvaeObjective, ACutClipIsTheMeanOfItsParts) {
    at::Tensor const x = at::randn({1, 3, 4, 16, 16}).tanh();
    auto cut = objective(2), parts = objective(0);
    cut.begin_step(0);
    at::Tensor const loss = cut.loss(batch_of(x));
    loss.backward();
    parts.begin_step(0);
    at::Tensor const first = parts.loss(batch_of(x.narrow(2, 0, 2)));
    at::Tensor const second = parts.loss(batch_of(x.narrow(2, 2, 2)));
    at::Tensor const mean = first.add(second).mul(0.5);
    mean.backward();
    EXPECT_NEAR(loss.item<double>(), mean.item<double>(), kFp32Loss * mean.item<double>());
    auto const a = gradients(cut), b = gradients(parts);
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_LE(relative_error(a[i], b[i]), kFp32ConvGradient) << i;
    cut.after_update();
    parts.after_update();
    for (auto const& each : cut.parameters().all()) {
        if (each.kind != TensorKind::buffer) continue;
        EXPECT_LE(relative_error(each.tensor, parts.parameters().find(each.name)->tensor),
                  kFp32Order)
            << each.name;
    }
}

TEST(VqvaeObjective, AccumulatedMicroBatchesAreCountedTogether) {
    at::Tensor const x = at::randn({4, 3, 2, 16, 16}).tanh();
    auto net = objective(0);
    net.begin_step(0);
    for (std::int64_t i = 0; i < 4; i += 2) (void)net.loss(batch_of(x.narrow(0, i, 2)));
    net.after_update();
    // Each of 4 clips is 1 x 4 x 4 codes; N was 1 for each of 12 codes: 0.99 x 12 + 0.01 x 64.
    auto const& used = net.parameters().find("codebook.N")->tensor;
    EXPECT_NEAR(used.sum().item<double>(), 0.99 * 12 + 0.01 * 64, 1e-4);
    auto const figures = net.figures();
    EXPECT_GE(figures.at("perplexity"), 1);
    EXPECT_LE(figures.at("perplexity"), 12 + 1e-6);
    EXPECT_GE(figures.at("codes_used"), 0);
    EXPECT_LE(figures.at("codes_used"), 1);
    EXPECT_EQ(
        net.parameters().find("encoder.res_stack.1.num_batches_tracked")->tensor.item<double>(), 1);
}

// A pass of a rank waits for no other: rank 1 makes none.
TEST(VqvaeObjective, RanksStartCodesBeforeTheirPasses) {
    at::Tensor const x = at::randn({2, 3, 2, 16, 16}).tanh();
    std::array<at::Tensor, 2> codes;
    run_ranks(2, [&](Group const& group) {
        Vqvae model(tiny_vqvae());
        model.initialise(7);
        VqvaeObjective net(std::move(model), {.seed = 7, .micro_frame_size = 0, .group = group});
        net.begin_step(0);
        EXPECT_TRUE(net.awaits_samples());
        auto const batch = batch_of(x.narrow(0, group.rank(), 1));
        net.see(batch);
        net.start();
        EXPECT_FALSE(net.awaits_samples());
        codes[static_cast<std::size_t>(group.rank())] =
            net.parameters().find("codebook.embeddings")->tensor.clone();
        if (group.rank() == 0) {
            EXPECT_TRUE(std::isfinite(net.loss(batch).item<double>()));
        }
    });
    EXPECT_TRUE(codes[0].equal(codes[1]));
    // Rank 0's, and those of a network alone.
    auto alone = objective(0);
    alone.begin_step(0);
    (void)alone.loss(batch_of(x.narrow(0, 0, 1)));
    at::Tensor const& expected = alone.parameters().find("codebook.embeddings")->tensor;
    EXPECT_LE(relative_error(codes[0], expected), kFp32Order);
}

// By what a checkpoint holds: other clips beside it change nothing, and nothing is counted.
TEST(VqvaeObjective, HeldOutClipsAreJudgedEachForItself) {
    at::Tensor const x = at::randn({2, 3, 2, 16, 16}).tanh();
    auto net = objective(0);
    net.begin_step(0);
    (void)net.loss(batch_of(x));
    net.after_update();
    std::vector<at::Tensor> before;
    for (auto const& each : net.parameters().all()) before.push_back(each.tensor.clone());
    at::NoGradGuard const no_grad;
    auto const of = [&](at::Tensor const& clips) {
        return net.held_out_loss(batch_of(clips)).item<double>();
    };
    double const both = of(x), apart = (of(x.narrow(0, 0, 1)) + of(x.narrow(0, 1, 1))) / 2;
    EXPECT_NEAR(both, apart, 1e-5 * both);
    EXPECT_GT(std::abs(net.loss(batch_of(x)).item<double>() - both), 1e-3 * both);
    std::size_t i = 0;
    for (auto const& each : net.parameters().all())
        EXPECT_TRUE(each.tensor.equal(before[i++])) << each.name;
}

TEST(VqvaeObjective, ASkippedStepLeavesNoTrace) {
    at::Tensor const x = at::randn({2, 3, 2, 16, 16}).tanh();
    auto one = objective(0), other = objective(0);
    for (auto* each : {&one, &other}) {
        each->begin_step(0);
        (void)each->loss(batch_of(x));
        each->after_update();
    }
    one.begin_step(1);
    (void)one.loss(batch_of(x.neg()));
    for (auto* each : {&one, &other}) {
        each->begin_step(2);
        (void)each->loss(batch_of(x));
        each->after_update();
    }
    for (auto const& each : one.parameters().all()) {
        if (each.kind != TensorKind::buffer) continue;
        EXPECT_TRUE(each.tensor.equal(other.parameters().find(each.name)->tensor)) << each.name;
    }
}

TEST(VqvaeObjective, Learns) {
    auto net = objective(0);
    AdamW optimizer(net.parameters().trainable(), {.lr = 3e-3});
    at::Tensor const x = at::randn({2, 3, 1, 4, 4})
                             .repeat_interleave(4, 2)
                             .repeat_interleave(4, 3)
                             .repeat_interleave(4, 4)
                             .tanh();
    double first = 0, last = 0;
    for (int step = 0; step < 60; ++step) {
        net.parameters().clear_gradients();
        net.begin_step(step);
        at::Tensor const loss = net.loss(batch_of(x));
        loss.backward();
        optimizer.step(3e-3);
        net.after_update();
        (step == 0 ? first : last) = loss.item<double>();
    }
    EXPECT_LT(last, 0.5 * first);
}

}  // namespace
}  // namespace osora::worker
