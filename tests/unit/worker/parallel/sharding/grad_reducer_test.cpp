// Data-parallel gradients of STDiT3 equal those of one rank on the whole batch, with as many
// collectives as the bucket size asks for.
#include "worker/parallel/sharding/grad_reducer.hpp"

#include "tests/parity/compare.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <latch>

namespace osora::worker {
namespace {

constexpr std::int64_t kReducedSamples = 4;

Stdit3 make_model() {
    Stdit3 model(stdit3_config("stdit3-tiny").value());
    model.initialise(7);
    at::NoGradGuard const no_grad;  // weights that start at 0 would hide missing gradients
    auto const generator = at::make_generator<at::CPUGeneratorImpl>(7);
    for (auto const& parameter : model.parameters().trainable())
        parameter.normal_(0, 0.1, generator);
    return model;
}

/// Mean over samples [start, stop) of a loss that differs for each sample.
at::Tensor loss_of(Stdit3 const& model, std::int64_t start, std::int64_t stop) {
    Stdit3Input input;
    std::vector<std::int64_t> const shape{kReducedSamples, 3, 2, 16, 16};
    auto const count = kReducedSamples * 3 * 2 * 16 * 16;
    input.x =
        at::arange(count).to(at::kFloat).mul(0.7).sin().view(shape).narrow(0, start, stop - start);
    input.timestep = at::arange(start, stop).to(at::kFloat).mul(200).add(50);
    input.fps = at::full({1}, 8.0);
    input.height_px = input.width_px = 16;
    return model.forward(input).sub(input.x.mul(2)).square().mean();
}

std::vector<at::Tensor> gradients_on_one_rank() {
    auto model = make_model();
    loss_of(model, 0, kReducedSamples).backward();
    std::vector<at::Tensor> gradients;
    for (auto const& parameter : model.parameters().trainable())
        gradients.push_back(parameter.grad());
    return gradients;
}

void expect_equal(Stdit3 const& model, std::vector<at::Tensor> const& expected) {
    auto const parameters = model.parameters().trainable();
    ASSERT_EQ(parameters.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_LE(relative_error(parameters[i].grad(), expected[i]), kFp32Order) << i;
        EXPECT_GT(expected[i].norm().item<double>(), 0) << i;
    }
}

class GradReducerRanks : public testing::TestWithParam<int> {
protected:
    GradReducerRanks() { at::set_num_threads(1); }
};

TEST_P(GradReducerRanks, MeanOverTheGlobalBatch) {
    auto const expected = gradients_on_one_rank();
    double const bucket_mib = 0.3;
    run_ranks(GetParam(), [&](Group const& group) {
        auto model = make_model();
        GradReducer reducer(model.parameters().trainable(), group, {.bucket_mib = bucket_mib});
        std::int64_t const local = kReducedSamples / group.world_size();
        for (int step = 0; step < 3; ++step) {
            model.parameters().clear_gradients();
            auto const begin = std::chrono::steady_clock::now();
            auto const passed_s = [&] {
                std::chrono::duration<double> const passed =
                    std::chrono::steady_clock::now() - begin;
                return passed.count();
            };
            reducer.begin_step();
            reducer.begin({.scale = 1.0 / group.world_size()});
            loss_of(model, group.rank() * local, (group.rank() + 1) * local).backward();
            ASSERT_TRUE(reducer.finish().has_value());
            auto const bytes = model.parameters().trainable_count() * 4;
            auto const buckets = std::ceil(static_cast<double>(bytes) / (bucket_mib * 1048576));
            bool const alone = group.world_size() == 1;
            auto const costs = reducer.costs(reducer.waited_s());
            ASSERT_EQ(costs.size(), alone ? 0u : 1u);
            if (!alone) {
                EXPECT_EQ(costs[0].name, "gradients all_reduce");
                EXPECT_EQ(costs[0].ranks, group.world_size());
                EXPECT_EQ(costs[0].calls, static_cast<std::int64_t>(buckets));
                EXPECT_EQ(costs[0].bytes, bytes);
                EXPECT_EQ(costs[0].exposed_s, reducer.waited_s());
                EXPECT_GT(costs[0].seconds, 0);
                EXPECT_LT(costs[0].seconds, passed_s());
            }
            expect_equal(model, expected);
        }
    });
}
INSTANTIATE_TEST_SUITE_P(Ranks, GradReducerRanks, testing::Values(1, 2, 4));

TEST(GradReducer, UnevenRanksAreWeightedBySamples) {
    auto const expected = gradients_on_one_rank();
    run_ranks(2, [&](Group const& group) {
        auto model = make_model();
        GradReducer reducer(model.parameters().trainable(), group, {.bucket_mib = 1});
        std::int64_t const start = group.rank() == 0 ? 0 : 3;
        std::int64_t const stop = group.rank() == 0 ? 3 : 4;
        reducer.begin({.scale = static_cast<double>(stop - start) / kReducedSamples});
        loss_of(model, start, stop).backward();
        ASSERT_TRUE(reducer.finish().has_value());
        expect_equal(model, expected);
    });
}

TEST(GradReducer, AccumulationReducesOnce) {
    auto const expected = gradients_on_one_rank();
    run_ranks(2, [&](Group const& group) {
        auto model = make_model();
        GradReducer reducer(model.parameters().trainable(), group, {.bucket_mib = 100});
        std::int64_t const start = 2 * group.rank();
        for (int step = 0; step < 2; ++step) {
            model.parameters().clear_gradients();
            reducer.begin_step();
            for (bool const last : {false, true}) {
                reducer.begin({.scale = 1.0 / kReducedSamples, .last = last});
                loss_of(model, start + last, start + last + 1).backward();
                ASSERT_TRUE(reducer.finish().has_value());
            }
            EXPECT_EQ(reducer.costs(0).at(0).calls, 1);
            expect_equal(model, expected);
        }
    });
}

TEST(GradReducer, BucketsHoldTheGradients) {
    run_ranks(2, [&](Group const& group) {
        std::vector<at::Tensor> const parameters{at::ones({3}).set_requires_grad(true),
                                                 at::ones({2}).set_requires_grad(true)};
        GradReducer reducer(parameters, group,
                            {.bucket_mib = 16.0 / 1048576});  // 4 numbers a bucket
        reducer.begin({.scale = 0.5});
        // Only the first parameter is used; the second one's gradient is 0 on every rank.
        parameters[0].mul(group.rank() + 1.0).sum().backward();
        ASSERT_TRUE(reducer.finish().has_value());
        EXPECT_EQ(reducer.costs(0).at(0).calls, 2);
        EXPECT_EQ(parameters[0].grad().sum().item<double>(), 4.5);  // 3 * (1 + 2) / 2
        EXPECT_EQ(parameters[1].grad().sum().item<double>(), 0);
        EXPECT_TRUE(parameters[0].grad().is_alias_of(parameters[1].grad()));  // one flat tensor
    });
}

// The known-bad way gives the same gradients, with a collective for each parameter.
TEST(GradReducer, OneCollectiveAParameterWhenAsked) {
    auto const expected = gradients_on_one_rank();
    for (auto const way : {ReduceWay::per_parameter, ReduceWay::after}) {
        run_ranks(2, [&](Group const& group) {
            auto model = make_model();
            GradReducer reducer(model.parameters().trainable(), group,
                                {.bucket_mib = 1, .way = way});
            std::int64_t const local = kReducedSamples / 2;
            for (int step = 0; step < 2; ++step) {
                model.parameters().clear_gradients();
                reducer.begin_step();
                reducer.begin({.scale = 0.5});
                loss_of(model, group.rank() * local, (group.rank() + 1) * local).backward();
                ASSERT_TRUE(reducer.finish().has_value());
                bool const each = way == ReduceWay::per_parameter;
                auto const costs = reducer.costs(reducer.waited_s());
                ASSERT_EQ(costs.size(), each ? 2u : 1u);
                auto const mib = model.parameters().trainable_count() * 4.0 / 1048576;
                EXPECT_EQ(costs[0].calls,
                          static_cast<std::int64_t>(each ? static_cast<double>(expected.size())
                                                         : std::ceil(mib)));
                EXPECT_EQ(costs[0].bytes, model.parameters().trainable_count() * 4);
                if (each) {
                    EXPECT_EQ(costs[1].name, "gradients barrier");
                    EXPECT_EQ(costs[1].collective, "barrier");
                    EXPECT_EQ(costs[1].calls, 2);
                    EXPECT_EQ(costs[1].bytes, 0);
                    EXPECT_NEAR(costs[0].exposed_s + costs[1].exposed_s, reducer.waited_s(), 1e-12);
                }
                expect_equal(model, expected);
            }
        });
    }
}

TEST(GradReducer, HooksEndWithTheReducer) {
    run_ranks(2, [&](Group const& group) {
        auto const parameter = at::ones({3}).set_requires_grad(true);
        { GradReducer const reducer({parameter}, group, {.bucket_mib = 1}); }
        parameter.sum().backward();
        EXPECT_EQ(parameter.grad().sum().item<double>(), 3);
    });
}

TEST(GradReducer, APeerThatIsGoneIsAnError) {
    std::latch reported(1);
    run_ranks(
        2,
        [&](Group const& group) {
            if (group.rank() == 1) {  // joins, then never reduces
                reported.wait();
                return;
            }
            auto const parameter = at::ones({3}).set_requires_grad(true);
            GradReducer reducer({parameter}, group, {.bucket_mib = 1});
            reducer.begin({});
            parameter.sum().backward();
            auto const failed = reducer.finish();
            reported.count_down();
            ASSERT_TRUE(failed.has_error());
            EXPECT_EQ(failed.error().code, Errc::unreachable);
        },
        std::chrono::seconds(2));
}

}  // namespace
}  // namespace osora::worker
