// The graphs around fused kernels against operators.
#include "worker/model/fused/fused_ops.hpp"

#include "kernels_on_cpu.hpp"
#include "worker/model/modulation.hpp"
#include "worker/model/rope.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace osora::worker {
namespace {

class FusedOps : public ::testing::Test {
protected:
    FusedOps() { at::manual_seed(1); }
    ~FusedOps() override { use_fused_kernels(nullptr); }
};

at::Tensor leaf(at::IntArrayRef sizes) {
    return at::randn(sizes).requires_grad_();
}

/// Values and gradients of both ways; `make` is called once without kernels and once with them.
template <typename MakeOutputs>
void expect_same(std::vector<at::Tensor> const& leaves, MakeOutputs make) {
    std::vector<std::vector<at::Tensor>> seen;
    std::vector<at::Tensor> weights;
    for (FusedKernels const* kernels :
         {static_cast<FusedKernels const*>(nullptr), &kernels_on_cpu()}) {
        use_fused_kernels(kernels);
        std::vector<at::Tensor> const outputs = make();
        if (weights.empty())
            for (auto const& each : outputs) weights.push_back(at::randn_like(each));
        auto const grads = torch::autograd::grad(outputs, leaves, weights);
        seen.push_back(outputs);
        seen.back().insert(seen.back().end(), grads.begin(), grads.end());
    }
    ASSERT_EQ(seen[0].size(), seen[1].size());
    for (std::size_t i = 0; i < seen[0].size(); ++i) {
        EXPECT_EQ(seen[0][i].sizes(), seen[1][i].sizes()) << i;
        EXPECT_LT((seen[0][i] - seen[1][i]).abs().max().item<double>(), 2e-5) << i;
    }
}

TEST_F(FusedOps, ModulatedNormsAreTheOperatorsWithTheirGradients) {
    struct Shape {
        std::vector<std::int64_t> x, rows;
    };
    for (auto const& [sizes, rows] :
         {Shape{{2, 3, 5, 8}, {2, 3, 1, 8}}, Shape{{2, 3, 5, 8}, {2, 1, 1, 8}},
          Shape{{2, 7, 12}, {2, 1, 12}}, Shape{{1, 1, 4, 4}, {1, 1, 1, 4}}}) {
        auto const x = leaf(sizes), shift = leaf(rows), scale1 = leaf(rows);
        for (auto const order : {TokenOrder::as_x, TokenOrder::by_place}) {
            expect_same({x, shift, scale1},
                        [&] { return std::vector{modulated(x, shift, scale1, order)}; });
        }
    }
}

TEST_F(FusedOps, FramesOfAPlaceAreAfterEachOther) {
    use_fused_kernels(&kernels_on_cpu());
    auto const x = leaf({2, 3, 5, 8}), rows = leaf({2, 1, 1, 8});
    auto const made = fused_modulated(x, rows, rows, TokenOrder::by_place);
    ASSERT_TRUE(made.has_value());
    EXPECT_TRUE(made->transpose(1, 2).is_contiguous());
}

TEST_F(FusedOps, GatedSumsAreTheOperatorsAlsoOfTurnedTokens) {
    auto const x = leaf({2, 3, 5, 8}), gate = leaf({2, 3, 1, 8}), y = leaf({2, 5, 3, 8});
    expect_same({x, gate, y}, [&] { return std::vector{gated(x, gate, y.transpose(1, 2))}; });
    auto const tokens = leaf({2, 6, 8}), one = leaf({2, 1, 8}), more = leaf({2, 6, 8});
    expect_same({tokens, one, more}, [&] { return std::vector{gated(tokens, one, more)}; });
}

/// As attention.cpp computes them operator by operator.
std::vector<at::Tensor> heads_by_operators(at::Tensor const& x, at::Tensor const& weight,
                                           at::Tensor const& rotations) {
    at::Tensor const inverse = at::rsqrt(x.square().mean(-1, true).add(1e-6));
    at::Tensor const normal = at::mul(at::mul(x, inverse), weight.unsqueeze(1));
    return (rotations.defined() ? rotate_frames(normal, rotations) : normal).unbind(2);
}

TEST_F(FusedOps, HeadNormsAreTheOperatorsWithTheirGradients) {
    std::int64_t const tokens = 5, heads = 3, dim = 8;
    at::Tensor const rotations = rope_rotations(rope_freqs(dim / 2), tokens);
    at::Tensor const turns = at::view_as_real(rotations).reshape({tokens, -1, 2});
    for (bool const rotates : {false, true}) {
        for (std::int64_t const parts : {1, 2}) {
            // Of a joint projection to q, k and v.
            auto const qkv = leaf({2, tokens, 3, heads, dim}), weight = leaf({parts, dim});
            auto const x = [&] { return qkv.narrow(2, 0, parts); };
            expect_same({qkv, weight}, [&] {
                auto const fused = fused_head_norms(x(), weight, rotates ? turns : at::Tensor());
                return fused ? *fused
                             : heads_by_operators(x(), weight, rotates ? rotations : at::Tensor());
            });
        }
    }
}

TEST_F(FusedOps, ShapesThatDoNotFitAreLeftToOperators) {
    auto const x = leaf({2, 3, 5, 8}), rows = leaf({2, 1, 1, 8});
    EXPECT_FALSE(fused_modulated(x, rows, rows, TokenOrder::as_x));  // no kernels
    use_fused_kernels(&kernels_on_cpu());
    EXPECT_TRUE(fused_modulated(x, rows, rows, TokenOrder::as_x));
    auto const odd = leaf({2, 3, 5, 6}), odd_rows = leaf({2, 1, 1, 6});
    EXPECT_FALSE(fused_modulated(odd, odd_rows, odd_rows, TokenOrder::as_x));
    auto const of_tokens = leaf({2, 3, 5, 8});
    EXPECT_FALSE(fused_modulated(x, of_tokens, of_tokens, TokenOrder::as_x));
    auto const shared = leaf({1, 1, 1, 8});
    EXPECT_FALSE(fused_gated(x, shared, x));
    auto const wide = leaf({1, 1, 1, 8192}), wide_rows = leaf({1, 1, 1, 8192});
    EXPECT_FALSE(fused_modulated(wide, wide_rows, wide_rows, TokenOrder::as_x));
    EXPECT_FALSE(fused_head_norms(leaf({2, 5, 3, 3, 8}), leaf({3, 8}), {}));
    EXPECT_FALSE(fused_head_norms(leaf({2, 5, 1, 3, 6}), leaf({1, 6}), {}));
    auto const doubles = x.to(at::kDouble), double_rows = rows.to(at::kDouble);
    EXPECT_FALSE(fused_modulated(doubles, double_rows, double_rows, TokenOrder::as_x));
}

}  // namespace
}  // namespace osora::worker
