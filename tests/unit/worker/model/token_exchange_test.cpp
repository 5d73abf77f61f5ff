// Attention over tokens that ranks share against attention on one rank, sequences that do not
// divide included.
#include "worker/model/token_exchange.hpp"

#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/parallel/sequence_ranks.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include <mutex>

namespace osora::worker {
namespace {

at::Tensor attention(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v) {
    return at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        .transpose(1, 2);
}

/// Concatenated runs of two sequences.
at::Tensor own_runs(TokenRanks const& ranks, at::Tensor const& x, std::int64_t first) {
    auto const parts = x.split_with_sizes({first, x.size(1) - first}, 1);
    return at::cat({own_tokens(&ranks, parts[0], 1), own_tokens(&ranks, parts[1], 1)}, 1);
}

TEST(TokenSpan, RunsAreInOrderAndTheFirstHaveOneMore) {
    std::int64_t begin = 0;
    for (int rank = 0; rank < 4; ++rank) {
        auto const span = token_span(10, 4, rank);
        EXPECT_EQ(span.begin, begin);
        EXPECT_EQ(span.count, rank < 2 ? 3 : 2);
        begin += span.count;
    }
    EXPECT_EQ(token_span(2, 4, 3).count, 0);
}

/// (text tokens, image tokens, ranks, form)
class TokenExchange : public testing::TestWithParam<std::tuple<int, int, int, AttentionForm>> {};

TEST_P(TokenExchange, AttendsAsOneRankWithItsGradients) {
    auto const [text, image, size, form] = GetParam();
    auto const generator = at::make_generator<at::CPUGeneratorImpl>(5);
    at::Tensor const x = at::empty({3, 2, text + image, 12, 4}, at::kDouble);
    at::Tensor const weight = at::empty({2, text + image, 12, 4}, at::kDouble);
    x.normal_(0, 1, generator);
    weight.normal_(0, 1, generator);
    at::Tensor const whole = x.clone().requires_grad_();
    auto const parts = whole.unbind(0);
    at::Tensor const expected = attention(parts[0], parts[1], parts[2]);
    expected.mul(weight).sum().backward();
    at::Tensor const summed = x.clone().zero_();
    std::mutex mutex;
    run_ranks(size, [&, text = text, image = image, form = form](Group const& group) {
        SequenceRanks ranks(group, "tokens", form);
        at::Tensor const mine = x.clone().requires_grad_();
        auto const of = mine.unbind(0);
        at::Tensor const out =
            attention_over({&ranks, {text, image}}, own_runs(ranks, of[0], text),
                           own_runs(ranks, of[1], text), own_runs(ranks, of[2], text), attention);
        auto const runs =
            out.split_with_sizes({token_span(text, group.world_size(), group.rank()).count,
                                  token_span(image, group.world_size(), group.rank()).count},
                                 1);
        at::Tensor const all = at::cat(
            {all_tokens(&ranks, runs[0], 1, text), all_tokens(&ranks, runs[1], 1, image)}, 1);
        all.mul(weight).sum().backward();
        std::lock_guard const lock(mutex);
        EXPECT_LT(all.sub(expected).abs().max().item<double>(), 1e-12);
        summed.add_(mine.grad());
    });
    EXPECT_LT(summed.sub(whole.grad()).abs().max().item<double>(), 1e-12);
}
INSTANTIATE_TEST_SUITE_P(All, TokenExchange,
                         testing::Values(std::tuple(8, 16, 2, AttentionForm::exchange),
                                         std::tuple(5, 6, 3, AttentionForm::exchange),
                                         std::tuple(1, 7, 4, AttentionForm::exchange),
                                         std::tuple(3, 9, 2, AttentionForm::exchange),
                                         std::tuple(8, 16, 2, AttentionForm::ring),
                                         std::tuple(5, 6, 3, AttentionForm::ring),
                                         std::tuple(0, 17, 5, AttentionForm::ring),
                                         std::tuple(1, 2, 4, AttentionForm::ring)));

}  // namespace
}  // namespace osora::worker
