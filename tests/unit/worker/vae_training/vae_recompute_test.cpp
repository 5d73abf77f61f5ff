// Gradients through recomputed parts against those of a plain graph, what is kept, and when hooks
// on parameters run.
#include "tests/kit/counted_memory.hpp"
#include "worker/memory/recompute.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

namespace osora::worker {
namespace {

struct Net {
    at::Tensor first = at::randn({32, 32}, at::kDouble).set_requires_grad(true);
    at::Tensor second = at::randn({32, 32}, at::kDouble).set_requires_grad(true);

    at::Tensor operator()(at::Tensor const& x) const {
        return at::tanh(at::linear(at::tanh(at::linear(x, first)), second));
    }
    std::vector<at::Tensor> parameters() const { return {first, second}; }
};

double difference(at::Tensor const& a, at::Tensor const& b) {
    return a.sub(b).abs().max().item<double>();
}

TEST(Recompute, RowsHaveTheGradientsOfAll) {
    Net const net;
    at::Tensor const x = at::randn({10, 32}, at::kDouble).set_requires_grad(true);
    auto const run = [&](std::int64_t count) {
        for (auto tensor : {net.first, net.second, x}) tensor.mutable_grad() = at::Tensor();
        over_rows(x, count, net.parameters(),
                  [&](at::Tensor const& rows, std::int64_t) { return net(rows); })
            .square()
            .sum()
            .backward();
        return std::vector{net.first.grad(), net.second.grad(), x.grad()};
    };
    auto const whole = run(0);
    for (std::int64_t const count : {1, 3, 5, 9, 10}) {
        auto const pieces = run(count);
        for (std::size_t i = 0; i < whole.size(); ++i)
            EXPECT_LT(difference(pieces[i], whole[i]), 1e-12) << count;
    }
}

TEST(Recompute, RowsGetTheirPosition) {
    at::Tensor const x = at::randn({7, 2}, at::kDouble).set_requires_grad(true);
    std::vector<std::int64_t> starts;
    at::Tensor const out = over_rows(x, 3, {}, [&](at::Tensor const& rows, std::int64_t first) {
        starts.push_back(first);
        return rows.mul(static_cast<double>(first + 1));
    });
    EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 3, 6}));
    out.sum().backward();
    EXPECT_EQ(x.grad()[6][0].item<double>(), 7);
}

TEST(Recompute, OnlyTheUsedResultIsFollowed) {
    Net const net;
    at::Tensor const x = at::randn({4, 32}, at::kDouble);
    auto const out = recompute(
        [&](auto const& inputs) {
            return std::vector{net(inputs[0]), inputs[0].mul(2), at::tanh(net.second)};
        },
        {x}, net.parameters());
    EXPECT_FALSE(x.requires_grad());
    out[2].sum().backward();
    EXPECT_FALSE(net.first.grad().defined());
    EXPECT_TRUE(net.second.grad().defined());
}

/// Counts how often a gradient is complete.
class Counter : public torch::autograd::PostAccumulateGradHook {
public:
    explicit Counter(int& calls) : calls_(calls) {}
    void operator()(at::Tensor const&) override { ++calls_; }

private:
    int& calls_;
};

TEST(Recompute, AParameterIsCompleteOnce) {
    Net const net;
    int calls = 0;
    torch::autograd::impl::set_post_acc_grad_hooks(net.first, std::make_unique<Counter>(calls));
    at::Tensor const x = at::randn({6, 32}, at::kDouble);
    auto const rows = [&](at::Tensor const& piece, std::int64_t) { return net(piece); };
    at::Tensor const out = over_rows(x, 2, net.parameters(), rows);
    over_rows(out, 2, net.parameters(), rows).sum().backward();
    EXPECT_EQ(calls, 1);
}

TEST(Recompute, HoldsOnePiece) {
    Net const net;
    at::Tensor const x = at::randn({512, 32}, at::kDouble);
    auto const peak = [&](std::int64_t count) {
        for (auto tensor : net.parameters()) tensor.mutable_grad() = at::Tensor();
        CountedMemory const memory;
        at::Tensor y = x;
        for (int i = 0; i < 8; ++i)
            y = over_rows(y, count, net.parameters(), [&](at::Tensor const& rows, std::int64_t) {
                return net(net(net(net(rows))));
            });
        y.sum().backward();
        return static_cast<double>(memory.peak_bytes());
    };
    EXPECT_LT(peak(64), 0.35 * peak(0));
}

}  // namespace
}  // namespace osora::worker
