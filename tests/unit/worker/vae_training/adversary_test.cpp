// The discriminator against Open-Sora's, and the adversary's own steps.
#include "worker/vae_training/adversary.hpp"

#include "tests/parity/compare.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

TEST(Discriminator, IsOpenSoras) {  // tests/data/vae/README.md
    auto const content =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/vae/discriminator.safetensors").value();
    DiscriminatorConfig config;
    config.ndf = 2;
    config.n_layers = 2;
    Discriminator net(config, 1, at::TensorOptions(at::kDouble));
    std::vector<NamedTensor> weights;
    for (auto const& each : content.tensors)
        if (each.name.starts_with("weights/"))
            weights.push_back({each.name.substr(8), each.tensor, TensorKind::trainable});
    auto parameters = net.parameters();
    auto const loaded = parameters.load(weights);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    auto const tensor = [&](std::string const& name) {
        return content.find(name)->to(at::kDouble);
    };
    at::Tensor const real = net(tensor("in/real"));
    EXPECT_LE(relative_error(real, tensor("out/real")), kExact);
    at::Tensor const loss = hinge_loss(real, net(tensor("in/fake")));
    EXPECT_NEAR(loss.item<double>(), tensor("out/loss").item<double>(), 1e-7);
    loss.backward();
    for (auto const& [name, weight, kind] : parameters.all())
        EXPECT_LE(relative_error(weight.grad(), tensor("grad/" + name)), kExact) << name;
}

TEST(Discriminator, SmallestVideoHasOnePatch) {
    DiscriminatorConfig config;
    config.ndf = 2;
    Discriminator const net(config, 1, {});
    auto const [frames, height, width] = Discriminator::least_size(config);
    EXPECT_EQ(net(at::randn({2, 3, frames, height, width})).sizes(),
              (std::vector<std::int64_t>{2, 1, 1, 1, 1}));
    EXPECT_ANY_THROW((void)net(at::randn({2, 3, frames - 1, height, width})));
    EXPECT_ANY_THROW((void)net(at::randn({2, 3, frames, height - 1, width})));
}

AdversaryConfig small() {
    AdversaryConfig config;
    config.discriminator.ndf = 4;
    config.weight = 0.5;
    config.start = 3;
    config.lr = 1e-3;
    return config;
}

TEST(Adversary, PullsAtTheLastLayerAsTheErrorDoes) {
    at::Tensor const layer = at::randn({3, 1, 1, 1}).set_requires_grad(true);
    at::Tensor const noise = at::randn({1, 3, 10, 24, 24});
    /// Gradient norms of the adversary's loss and of the error, times `scale`.
    auto const pull = [&](double weight, double scale) {
        auto config = small();
        config.weight = weight;
        Adversary adversary(config, 1, {});
        at::Tensor const fake = noise.mul(layer);
        at::Tensor const nll = fake.abs().sum().mul(scale);
        layer.mutable_grad() = at::Tensor();
        adversary.loss(fake, nll, layer).backward();
        return layer.grad().norm().item<double>();
    };
    double const scale = 1e-5;
    double const plain = pull(0.5, scale);
    EXPECT_NEAR(pull(1, scale) / plain, 2, 1e-4);
    EXPECT_NEAR(pull(0.5, 10 * scale) / plain, 10, 1e-3);
    layer.mutable_grad() = at::Tensor();
    noise.mul(layer).abs().sum().backward();
    double const by_error = scale * layer.grad().norm().item<double>();
    EXPECT_LT(plain, 0.5 * by_error);  // there is 1e-4 beside the norm
    EXPECT_GT(plain, 0.1 * by_error);
    EXPECT_EQ(pull(0.5, 1e6), pull(0.5, 1e9));  // the adaptive weight is at most 1e4
}

TEST(Adversary, LearnsToDistinguishRealFromFake) {
    Adversary adversary(small(), 1, {});
    EXPECT_FALSE(adversary.takes_part(2));
    EXPECT_TRUE(adversary.takes_part(3));
    at::Tensor const real = at::randn({2, 3, 10, 24, 24});
    at::Tensor const fake = real.mul(0.1);
    at::Tensor const layer = at::randn({1}).set_requires_grad(true);
    auto const mean_logit = [&](at::Tensor const& video) {
        // The loss is -mean logit x weight x adaptive; with both gradients alike its sign is left.
        at::Tensor const followed = video.mul(layer.div(layer.detach()));
        return adversary.loss(followed, followed.sum(), layer).sign().neg().item<double>();
    };
    for (int step = 0; step < 30; ++step) {
        adversary.learn(real.narrow(0, 0, 1), fake.narrow(0, 0, 1));
        adversary.learn(real.narrow(0, 1, 1), fake.narrow(0, 1, 1));
        adversary.update({});
    }
    EXPECT_EQ(mean_logit(real), 1);
    EXPECT_EQ(mean_logit(fake), -1);
    EXPECT_EQ(adversary.state().back().tensor.item<std::int64_t>(), 30);
}

// A rank whose clips are too short to judge in a step takes the step of the others.
TEST(Adversary, RanksThatLearnNothingStayInStep) {
    at::Tensor const real = at::randn({1, 3, 10, 24, 24}), fake = at::randn({1, 3, 10, 24, 24});
    std::vector<NamedTensor> states[2];
    run_ranks(2, [&](Group const& group) {
        Adversary adversary(small(), 1, {});
        if (group.rank() == 0) adversary.learn(real, fake);
        adversary.update(group);
        adversary.update(group);  // nobody learned anything
        states[group.rank()] = adversary.state();
    });
    Adversary alone(small(), 1, {});
    alone.learn(real, fake);
    alone.update({});
    auto const expected = alone.state();
    for (auto const& state : states) {
        ASSERT_EQ(state.size(), expected.size());
        for (std::size_t i = 0; i < state.size(); ++i)
            EXPECT_TRUE(at::allclose(state[i].tensor.to(at::kDouble),
                                     expected[i].tensor.to(at::kDouble), 1e-6, 1e-9))
                << state[i].name;
    }
}

// One NaN in its weights makes every later loss of the autoencoder NaN, also from a checkpoint.
TEST(Adversary, AGradientThatIsNotFiniteChangesNothing) {
    Adversary adversary(small(), 1, {});
    at::Tensor const real = at::randn({1, 3, 10, 24, 24}), fake = at::randn({1, 3, 10, 24, 24});
    adversary.learn(real, fake);
    adversary.update({});
    std::vector<at::Tensor> before;
    for (NamedTensor const& each : adversary.state()) before.push_back(each.tensor.clone());
    for (double const bad : {std::nan(""), HUGE_VAL}) {
        adversary.learn(real, fake.mul(bad));
        adversary.update({});
    }
    EXPECT_EQ(adversary.left_out(), 2);
    auto const after = adversary.state();
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i)
        EXPECT_TRUE(after[i].tensor.equal(before[i])) << after[i].name;
    adversary.learn(real, fake);
    adversary.update({});
    EXPECT_EQ(adversary.left_out(), 2);
    EXPECT_EQ(adversary.state().back().tensor.item<std::int64_t>(), 2);
}

TEST(Adversary, ContinuesFromItsState) {
    Adversary one(small(), 1, {}), other(small(), 2, {});
    at::Tensor const real = at::randn({1, 3, 10, 24, 24}), fake = at::randn({1, 3, 10, 24, 24});
    auto const step = [&](Adversary& adversary) {
        adversary.learn(real, fake);
        adversary.update({});
    };
    step(one);
    auto const from = one.state(), to = other.state();
    ASSERT_EQ(from.size(), to.size());
    {
        at::NoGradGuard const no_grad;
        for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_(from[i].tensor);
    }
    one.learn(real.neg(), fake);  // of a step that is skipped
    one.forget();
    step(one);
    step(other);
    for (std::size_t i = 0; i < from.size(); ++i)
        EXPECT_TRUE(one.state()[i].tensor.equal(other.state()[i].tensor)) << from[i].name;
}

}  // namespace
}  // namespace osora::worker
