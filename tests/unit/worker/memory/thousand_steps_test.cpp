// 1,000 steps of a small STDiT3 with activations in int8, beside the same steps without.
#include "small_models.hpp"
#include "worker/memory/activation_store.hpp"
#include "worker/train/optimizer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr int kSteps = 1000, kMean = 100;

/// Mean loss of the last steps. Samples, times and noise follow from the step alone.
double trained(StoreForm form, bool stochastic) {
    SmallStdit3 small(at::kFloat, 3);
    auto& parameters = small.model->parameters();
    AdamW optimizer(parameters.trainable(), AdamWConfig{.lr = 1e-3});
    StoreOptions options;
    options.form = form;
    options.stochastic = stochastic;
    options.least_bytes = 1 << 10;
    ActivationStore store(options);
    std::vector<at::Tensor> weights;
    for (auto const& each : parameters.all()) weights.push_back(each.tensor);
    at::Tensor const basis = at::randn({8, 4, 3, 8, 8}, small.generator);
    double sum = 0;
    for (int step = 0; step < kSteps; ++step) {
        auto const draw = at::make_generator<at::CPUGeneratorImpl>(static_cast<unsigned>(step));
        at::Tensor const sample = at::einsum("bk,kcthw->bcthw", {at::randn({2, 8}, draw), basis});
        at::Tensor const noise = at::randn(sample.sizes(), draw);
        at::Tensor const time = at::rand({2}, draw);
        at::Tensor const share = time.view({2, 1, 1, 1, 1});
        small.input.x = sample.mul(share.neg().add(1)).add(noise.mul(share));
        small.input.timestep = time.mul(1000);
        at::Tensor loss;
        {
            ActivationStore::Scope const scope(store, weights, static_cast<std::uint64_t>(step));
            loss = small.model->forward(small.input)
                       .narrow(1, 0, 4)
                       .sub(noise.sub(sample))
                       .square()
                       .mean();
        }
        parameters.clear_gradients();
        loss.backward();
        at::NoGradGuard const no_graph;
        optimizer.step(1e-3, at::Tensor());
        if (step >= kSteps - kMean) sum += loss.item<double>();
    }
    EXPECT_EQ(store.total().packed > 0, form != StoreForm::none);
    return sum / kMean;
}

TEST(ThousandSteps, LossInInt8IsThatOfExactActivations) {
    double const exact = trained(StoreForm::none, false);
    double const nearest = trained(StoreForm::int8, false);
    double const stochastic = trained(StoreForm::int8, true);
    fmt::print(
        "mean loss of the last {} of {} steps: exact {:.5f}, int8 {:.5f} ({:+.2f} %), "
        "int8 stochastic {:.5f} ({:+.2f} %)\n",
        kMean, kSteps, exact, nearest, 100 * (nearest / exact - 1), stochastic,
        100 * (stochastic / exact - 1));
    EXPECT_NEAR(nearest / exact, 1, 0.005);
    EXPECT_NEAR(stochastic / exact, 1, 0.005);
}

}  // namespace
}  // namespace osora::worker
