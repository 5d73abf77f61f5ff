// Gradients of several passes of a step, of weights below fp32: they add up in fp32 in every ZeRO
// stage. Each pass adds a part that a sum in the weights' own type would lose.
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/parallel/sharding/grad_reducer.hpp"
#include "worker/parallel/sharding/sharded_parameters.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kWeights = 96;
constexpr int kPasses = 8;

/// Of a rank's pass, in the type of the weights.
using PassGradient = std::function<at::Tensor(int rank, int pass)>;

struct AccumulatedStep {
    DataParallelOptions options = {};
    int ranks = 1, passes = kPasses;
    at::ScalarType type = at::kBFloat16;  // of the weights
};

/// Two units with weights, as a network announces them.
class TwoUnits {
public:
    TwoUnits(AccumulatedStep const& step, std::optional<Group> const& group)
        : weights_{at::zeros({kWeights}, step.type).requires_grad_(),
                   at::zeros({kWeights}, step.type).requires_grad_()} {
        if (step.options.zero_stage == 0 || !group) {
            ranks_ = std::make_unique<GradReducer>(weights_, group, step.options);
            return;
        }
        auto sharded = std::make_unique<ShardedParameters>(TrainedSet{weights_, {0, 1}},
                                                           ShardGroups{*group, {}}, step.options);
        gate_ = sharded.get();
        ranks_ = std::move(sharded);
    }

    void run(AccumulatedStep const& step, int rank, PassGradient const& gradient_of) {
        for (at::Tensor const& each : weights_) each.mutable_grad() = at::Tensor();
        ranks_->begin_step();
        for (int pass = 0; pass < step.passes; ++pass) {
            at::Tensor const loss = forward(gradient_of(rank, pass));
            ranks_->begin(
                {.scale = 1, .last = pass + 1 == step.passes, .accumulates = step.passes > 1});
            loss.backward();
            ASSERT_TRUE(ranks_->finish().has_value());
        }
    }

    /// This rank's pieces of the gradient, in `whole`: (2, kWeights).
    void copy_to(at::Tensor const& whole) const {
        for (ParameterPiece const& piece : ranks_->pieces())
            whole.select(0, static_cast<std::int64_t>(piece.parameter))
                .narrow(0, piece.first, piece.values.numel())
                .copy_(piece.values.grad());
    }

private:
    at::Tensor forward(at::Tensor const& gradient) {
        at::Tensor loss;
        for (std::size_t unit = 0; unit < weights_.size(); ++unit) {
            if (gate_ != nullptr) gate_->open(unit);
            at::Tensor const own = weights_[unit].mul(gradient).sum();
            if (gate_ != nullptr) gate_->close(unit, {own});
            loss = loss.defined() ? loss.add(own) : own;
        }
        return loss;
    }

    std::vector<at::Tensor> weights_;
    std::unique_ptr<DataParallel> ranks_;
    UnitGate* gate_ = nullptr;  // of `ranks_`, where it is one
};

/// The gradient of all ranks after the second of two equal steps: (2, kWeights) in fp32.
at::Tensor gradient_after(AccumulatedStep const& step, PassGradient const& gradient_of) {
    at::Tensor const whole = at::zeros({2, kWeights});
    std::mutex mutex;
    auto const body = [&](std::optional<Group> const& group) {
        at::set_num_threads(1);
        TwoUnits network(step, group);
        for (int i = 0; i < 2; ++i) network.run(step, group ? group->rank() : 0, gradient_of);
        std::lock_guard const lock(mutex);
        network.copy_to(whole);
    };
    if (step.ranks == 1)
        body(std::nullopt);
    else
        run_ranks(step.ranks, body);
    return whole;
}

/// 1 in the first pass, then a quarter of the distance from 1 to the next value of the type.
PassGradient small_parts(at::ScalarType type) {
    double const part = type == at::kBFloat16 ? 1.0 / 512 : 1.0 / 4096;
    return [=](int, int pass) { return at::full({kWeights}, pass == 0 ? 1 : part, type); };
}

void expect_all(at::Tensor const& got, double expected, char const* what, int stage) {
    EXPECT_EQ(got.min().item<double>(), expected) << what << ", stage " << stage;
    EXPECT_EQ(got.max().item<double>(), expected) << what << ", stage " << stage;
}

TEST(Accumulation, OneRankAddsInFp32) {
    expect_all(gradient_after({}, small_parts(at::kBFloat16)), 1 + 7.0 / 512, "bf16", 0);
    expect_all(gradient_after({.type = at::kHalf}, small_parts(at::kHalf)), 1 + 7.0 / 4096, "fp16",
               0);
}

// 1 + 7/512 travels as its nearest value in bf16, 1 + 8/512, in stages 0 and 1. In stages 2 and 3
// each pass travels, exactly, and the sum of both ranks' passes is in fp32.
TEST(Accumulation, RanksRoundOnceWhereGradientsTravelInBf16) {
    for (int const stage : {0, 1, 2, 3}) {
        for (auto const way : {ReduceWay::overlapped, ReduceWay::after}) {
            at::Tensor const got =
                gradient_after({.options = {.zero_stage = stage, .way = way}, .ranks = 2},
                               small_parts(at::kBFloat16));
            expect_all(got, 2 * (1 + (stage < 2 ? 8 : 7) / 512.0),
                       way == ReduceWay::after ? "after" : "overlapped", stage);
        }
    }
}

// Nothing is rounded where they travel in fp32.
TEST(Accumulation, RanksAddExactlyWhatTravelsInFp32) {
    for (int const stage : {0, 1, 2, 3}) {
        at::Tensor const got = gradient_after(
            {.options = {.zero_stage = stage, .reduce_type = at::kFloat}, .ranks = 2},
            small_parts(at::kBFloat16));
        expect_all(got, 2 * (1 + 7.0 / 512), "fp32", stage);
    }
}

/// Values that have nothing in common with each other.
at::Tensor waves(int rank, int pass) {
    return at::arange(kWeights)
        .to(at::kFloat)
        .mul(0.37 + rank)
        .add(1.3 * pass)
        .sin()
        .to(at::kBFloat16);
}

// Against the sum of all passes in fp64, and against one pass whose gradient is that sum, rounded.
TEST(Accumulation, EqualsTheSumOfThePasses) {
    for (int const ranks : {1, 2}) {
        at::Tensor sum = at::zeros({kWeights}, at::kDouble), parts = sum.clone();
        for (int rank = 0; rank < ranks; ++rank) {
            at::Tensor own = at::zeros({kWeights}, at::kDouble);
            for (int pass = 0; pass < kPasses; ++pass)
                own = own + waves(rank, pass).to(at::kDouble);
            sum = sum + own;
            parts = parts + own.abs();
        }
        auto const in_one = [&](int rank, int) {
            at::Tensor own = at::zeros({kWeights}, at::kDouble);
            for (int pass = 0; pass < kPasses; ++pass)
                own = own + waves(rank, pass).to(at::kDouble);
            return own.to(at::kBFloat16);
        };
        for (int const stage : {0, 1}) {
            DataParallelOptions const options{.zero_stage = stage};
            at::Tensor const got = gradient_after({.options = options, .ranks = ranks}, waves);
            at::Tensor const one =
                gradient_after({.options = options, .ranks = ranks, .passes = 1}, in_one);
            // One rank rounds nothing to bf16. Each of two rounds its part once, by 2^-8 of it at
            // most; in stage 0 their sum too.
            double const rounding = ranks == 1 ? 0 : 2.01 / 256;
            at::Tensor const room = parts.mul(rounding).add(1e-5);
            EXPECT_TRUE(got.to(at::kDouble).sub(sum).abs().le(room).all().item<bool>())
                << ranks << " ranks, stage " << stage;
            at::Tensor const room_of_one = parts.mul(rounding + 2.01 / 256).add(1e-5);
            EXPECT_TRUE(got.sub(one).abs().le(room_of_one).all().item<bool>())
                << ranks << " ranks, stage " << stage;
        }
    }
}

at::ScalarType type_of_gradient(at::ScalarType weights, bool accumulates) {
    at::Tensor const weight = at::zeros({kWeights}, weights).requires_grad_();
    GradReducer reducer({weight}, std::nullopt, {});
    reducer.begin({.accumulates = accumulates});
    EXPECT_EQ(weight.grad().defined(), accumulates && weights != at::kFloat);
    weight.sum().backward();
    EXPECT_TRUE(reducer.finish().has_value());
    return weight.grad().scalar_type();
}

TEST(Accumulation, OnePassCostsNothing) {
    EXPECT_EQ(type_of_gradient(at::kBFloat16, false), at::kBFloat16);
    EXPECT_EQ(type_of_gradient(at::kBFloat16, true), at::kFloat);
    EXPECT_EQ(type_of_gradient(at::kFloat, true), at::kFloat);
}

}  // namespace
}  // namespace osora::worker
