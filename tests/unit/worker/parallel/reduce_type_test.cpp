// Gradients that travel as bf16: what arrives is the sum of what was rounded, in half the bytes.
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/parallel/sharding/grad_reducer.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <mutex>

namespace osora::worker {
namespace {

constexpr std::int64_t kItems = 1024;
constexpr double kScale = 1.0 / 3;

/// What each rank adds, of values that bf16 does not hold.
at::Tensor gradient_of(int rank) {
    return at::arange(kItems).to(at::kFloat).mul(0.37 + rank).sin();
}
at::Tensor rounded(at::Tensor const& values) {
    return values.to(at::kBFloat16).to(at::kFloat);
}

/// The gradient of all ranks, put together from their pieces.
at::Tensor reduced(int ranks, DataParallelOptions const& options, std::int64_t& bytes) {
    at::Tensor const whole = at::zeros({kItems});
    std::mutex mutex;
    run_ranks(ranks, [&](Group const& group) {
        at::set_num_threads(1);
        at::Tensor const parameter = at::zeros({kItems}).requires_grad_();
        std::unique_ptr<DataParallel> all;
        if (options.zero_stage == 0)
            all = std::make_unique<GradReducer>(std::vector{parameter}, group, options);
        else
            all = std::make_unique<ShardedParameters>(TrainedSet{{parameter}, {0}},
                                                      ShardGroups{group, {}}, options);
        all->begin_step();
        all->begin({.scale = kScale});
        parameter.mul(gradient_of(group.rank())).sum().backward();
        ASSERT_TRUE(all->finish().has_value());
        std::lock_guard const lock(mutex);
        for (ParameterPiece const& piece : all->pieces()) {
            EXPECT_EQ(piece.values.grad().scalar_type(), at::kFloat);
            whole.narrow(0, piece.first, piece.values.numel()).copy_(piece.values.grad());
        }
        if (group.rank() == 0) bytes = all->costs(0).at(0).bytes;
    });
    return whole;
}

TEST(ReduceType, ShardsAddInFp32WhatComesRounded) {
    for (int const stage : {1, 2, 3}) {
        at::Tensor expected = at::zeros({kItems});
        for (int rank = 0; rank < 3; ++rank)
            expected = expected + rounded(gradient_of(rank).mul(kScale));
        std::int64_t bytes = 0;
        at::Tensor const got =
            reduced(3, {.zero_stage = stage, .reduce_type = at::kBFloat16}, bytes);
        EXPECT_LE((got - expected).abs().max().item<double>(), 1e-6) << stage;
        EXPECT_NEAR(static_cast<double>(bytes), 2 * kItems, 3 * 64) << stage;
    }
}

TEST(ReduceType, AllReduceAddsInBf16) {
    at::Tensor const one = rounded(gradient_of(0).mul(kScale)),
                     two = rounded(gradient_of(1).mul(kScale));
    std::int64_t bytes = 0;
    at::Tensor const got = reduced(2, {.reduce_type = at::kBFloat16}, bytes);
    EXPECT_TRUE(at::equal(got, rounded(one + two)));
    EXPECT_EQ(bytes, 2 * kItems);
}

TEST(ReduceType, ThatOfTheParametersWhereNoneIsSaid) {
    for (int const stage : {0, 1}) {
        std::int64_t bytes = 0;
        at::Tensor const got = reduced(2, {.zero_stage = stage}, bytes);
        at::Tensor const expected = gradient_of(0).mul(kScale) + gradient_of(1).mul(kScale);
        EXPECT_LE((got - expected).abs().max().item<double>(), 1e-6);
        EXPECT_NEAR(static_cast<double>(bytes), 4 * kItems, 2 * 64);
    }
}

}  // namespace
}  // namespace osora::worker
