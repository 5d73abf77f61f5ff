// Attention to blocks of keys, merged, against attention to all keys at once.
#include "worker/model/block_attention.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

class BlockAttention : public testing::TestWithParam<AttentionKernel> {};

TEST_P(BlockAttention, MergesToAttentionToAllKeysWithItsGradients) {
    auto const kernel = GetParam();
    auto const generator = at::make_generator<at::CPUGeneratorImpl>(5);
    auto const random = [&](std::int64_t tokens) {
        return at::empty({2, tokens, 3, 8}, at::kDouble).normal_(0, 2, generator);
    };
    at::Tensor const q = random(7), k = random(11), v = random(11), weight = random(7);
    std::vector<at::Tensor> leaves;
    for (at::Tensor const& each : {q, k, v}) leaves.push_back(each.clone().requires_grad_());
    at::Tensor const expected =
        at::scaled_dot_product_attention(leaves[0].transpose(1, 2), leaves[1].transpose(1, 2),
                                         leaves[2].transpose(1, 2))
            .transpose(1, 2);
    expected.mul(weight).sum().backward();

    auto const block = [&](at::Tensor const& x, std::int64_t first, std::int64_t count) {
        return x.narrow(1, first, count);
    };
    auto const near = [](at::Tensor const& a, at::Tensor const& b) {
        return a.sub(b).abs().max().item<double>() < 1e-12;
    };
    auto whole = attend_to_block(kernel, {q, block(k, 0, 4), block(v, 0, 4)});
    whole = merged(whole, attend_to_block(kernel, {q, block(k, 4, 1), block(v, 4, 1)}));
    whole = merged(whole, attend_to_block(kernel, {q, block(k, 5, 6), block(v, 5, 6)}));
    EXPECT_TRUE(near(whole.out, expected));
    at::Tensor dq = at::zeros_like(q);
    for (auto const& [first, count] : {std::pair(0, 4), {4, 1}, {5, 6}}) {
        auto const part = block_gradients(
            kernel, {q, block(k, first, count), block(v, first, count)}, whole, weight);
        dq.add_(part.q);
        EXPECT_TRUE(near(part.k, block(leaves[1].grad(), first, count)));
        EXPECT_TRUE(near(part.v, block(leaves[2].grad(), first, count)));
    }
    EXPECT_TRUE(near(dq, leaves[0].grad()));
}
INSTANTIATE_TEST_SUITE_P(Kernels, BlockAttention,
                         testing::Values(AttentionKernel::fused, AttentionKernel::products));

}  // namespace
}  // namespace osora::worker
