// Gradients of the networks with blocks run again in backward: the bits of a plain graph, with
// dropped captions, frozen weights, adapters, dropout and autocast; and what is kept.
#include "plan/activation_choice.hpp"
#include "small_models.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/memory/recompute.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace osora::worker {
namespace {

template <typename Model>
std::vector<at::Tensor> with_policy(Model& small, std::string const& name) {
    small.model->set_recompute(
        std::make_shared<plan::RecomputeChoice const>(plan::recompute_choice(name).value()));
    return gradients_of_loss(small);
}

template <typename Model>
void expect_same_bits(Model& small, std::string const& name) {
    auto const plain = with_policy(small, "none");
    auto const again = with_policy(small, name);
    auto const& entries = small.model->parameters().trainable();
    ASSERT_EQ(plain.size(), entries.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(plain[i].defined(), again[i].defined()) << name << " " << i;
        if (!plain[i].defined()) continue;
        EXPECT_TRUE(plain[i].equal(again[i]))
            << name << ": tensor " << i << " of shape " << plain[i].sizes() << " differs by "
            << plain[i].sub(again[i]).abs().max().template item<double>();
    }
}

TEST(ModelRecompute, Stdit3HasTheBitsOfAPlainGraph) {
    SmallStdit3 small;
    for (char const* policy : {"selective", "1", "3", "full"}) expect_same_bits(small, policy);
}

TEST(ModelRecompute, Stdit3InBf16) {
    SmallStdit3 small(at::kBFloat16);
    for (char const* policy : {"selective", "full"}) expect_same_bits(small, policy);
}

TEST(ModelRecompute, MmditHasTheBitsOfAPlainGraph) {
    for (bool const fused : {false, true}) {
        SmallMmdit small(fused);
        for (char const* policy : {"selective", "1", "2", "full"}) expect_same_bits(small, policy);
    }
}

TEST(ModelRecompute, FrozenWeightsAndAdapters) {
    SmallStdit3 small;
    plan::OptimSection optim;
    optim.lora_rank = 2;
    ASSERT_TRUE(choose_trainable(small.model->parameters(), optim, 7).has_value());
    fill_zero_weights(small.model->parameters(), small.generator);
    for (char const* policy : {"selective", "full"}) expect_same_bits(small, policy);
    SmallStdit3 part;
    part.model->parameters().freeze(
        [](std::string_view name) { return name.find("blocks.0") != std::string_view::npos; });
    for (char const* policy : {"selective", "full"}) expect_same_bits(part, policy);
}

TEST(ModelRecompute, KeepsLess) {
    SmallStdit3 small(at::kFloat, 6);
    small.input.x = at::randn({2, 4, 3, 16, 16}, small.generator);  // more than the gradients
    auto const peak = [&](std::string const& policy) {
        with_policy(small, policy);
        CountedMemory const counted;
        static_cast<void>(with_policy(small, policy));
        return static_cast<double>(counted.peak_bytes());
    };
    double const plain = peak("none");
    EXPECT_LT(peak("selective"), 0.75 * plain);
    EXPECT_LT(peak("6"), 0.75 * plain);
    EXPECT_LT(peak("full"), 0.45 * plain);
}

TEST(ModelRecompute, NamesOfPolicies) {
    EXPECT_EQ(plan::recompute_choice("none").value(), plan::RecomputeChoice{});
    EXPECT_TRUE(plan::recompute_choice("full").value().whole(1000));
    EXPECT_TRUE(plan::recompute_choice("3").value().whole(2));
    EXPECT_FALSE(plan::recompute_choice("3").value().whole(3));
    for (char const* bad : {"", "0", "-1", "3x", "some", "99999999999999999999"})
        EXPECT_TRUE(plan::recompute_choice(bad).has_error()) << bad;
}

TEST(PartRecompute, DropoutDrawsTheSame) {
    at::Tensor const weight = at::randn({16, 16}).set_requires_grad(true);
    at::Tensor const x = at::randn({64, 16}).set_requires_grad(true);
    auto const part = [&](std::vector<at::Tensor> const& from) {
        return std::vector{at::dropout(at::linear(from[0], weight), 0.4, true)};
    };
    auto const run = [&](bool again) {
        at::manual_seed(11);
        at::Tensor out = x;
        for (int i = 0; i < 3; ++i)
            out = again ? recompute(part, {out}, {weight})[0] : part({out})[0];
        auto const grads = torch::autograd::grad({out.square().sum()}, {weight, x});
        return std::vector{grads[0], grads[1], at::rand({4})};  // and what is drawn afterwards
    };
    auto const plain = run(false), again = run(true);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].equal(again[i])) << i;
}

TEST(PartRecompute, AutocastIsAsItWas) {
    at::Tensor const weight = at::randn({16, 16}).set_requires_grad(true);
    at::Tensor const x = at::randn({64, 16}).set_requires_grad(true);
    auto const part = [&](std::vector<at::Tensor> const& from) {
        return std::vector{at::linear(at::linear(from[0], weight), weight)};
    };
    auto const run = [&](bool again) {
        at::autocast::set_autocast_enabled(at::kCPU, true);
        at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
        at::Tensor const out = again ? recompute(part, {x}, {weight})[0] : part({x})[0];
        at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(at::kCPU, false);
        EXPECT_EQ(out.scalar_type(), at::kBFloat16);
        auto grads = torch::autograd::grad({out.to(at::kFloat).square().sum()}, {weight, x});
        EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
        return grads;
    };
    auto const plain = run(false), again = run(true);
    EXPECT_TRUE(plain[1].equal(again[1]));
    // Two uses of one weight: the plain graph casts it once and sums in bf16, the part in fp32.
    EXPECT_LT(plain[0].sub(again[0]).norm().item<double>(), 5e-3 * plain[0].norm().item<double>());
}

TEST(PartRecompute, AnInputThatChangedIsAnError) {
    at::Tensor const x = at::randn({4, 4}).set_requires_grad(true);
    at::Tensor const y = x.mul(1);
    at::Tensor const out =
        recompute([](auto const& from) { return std::vector{from[0].square()}; }, {y}, {})[0];
    {
        at::NoGradGuard const no_graph;
        y.add_(1);
    }
    EXPECT_THROW(out.sum().backward(), c10::Error);
}

class Order : public torch::autograd::PostAccumulateGradHook {
public:
    explicit Order(std::vector<int>& order, int place) : order_(order), place_(place) {}
    void operator()(at::Tensor const&) override { order_.push_back(place_); }

private:
    std::vector<int>& order_;
    int place_;
};

// What overlaps reduction with backward: a late block's gradients are complete before an early
// block is even run again.
TEST(PartRecompute, GradientsAreCompleteDuringBackward) {
    std::vector<int> order;
    at::Tensor x = at::randn({4, 4});
    std::vector<at::Tensor> weights;
    for (int i = 0; i < 3; ++i) weights.push_back(at::randn({4, 4}).set_requires_grad(true));
    for (int i = 0; i < 3; ++i) {
        at::Tensor const& weight = weights[static_cast<std::size_t>(i)];
        torch::autograd::impl::set_post_acc_grad_hooks(weight, std::make_unique<Order>(order, i));
        x = recompute(
            [&order, weight, i](auto const& from) {
                order.push_back(10 + i);
                return std::vector{at::linear(from[0], weight)};
            },
            {x}, {weight})[0];
    }
    order.clear();
    x.square().sum().backward();
    EXPECT_EQ(order, (std::vector<int>{12, 2, 11, 1, 10, 0}));
}

}  // namespace
}  // namespace osora::worker
