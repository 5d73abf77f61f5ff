// The graphs around fused kernels against operators: kernels of this file, for CPU tensors, written
// from the formulas, take the place of a GPU's.
#include "worker/model/fused/fused_ops.hpp"

#include "worker/memory/activation_store.hpp"
#include "worker/memory/saved_kind.hpp"
#include "worker/model/fused/fused_kernels.hpp"
#include "worker/model/modulation.hpp"
#include "worker/model/rope.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace osora::worker {
namespace {

/// Numbers of `groups`, one row for each row of x.
at::Tensor spread(at::Tensor const& groups, at::Tensor const& x) {
    std::int64_t const rows = x.numel() / x.size(-1);
    return groups.repeat_interleave(rows / groups.size(0), 0).view(x.sizes());
}

/// Sums of each group's rows, as one chunk of the several that the caller adds up.
void put_sums(at::Tensor const& into, at::Tensor const& rows) {
    std::int64_t const groups = into.size(0);
    into.zero_();
    into.select(1, into.size(1) - 1).copy_(rows.reshape({groups, -1, rows.size(-1)}).sum(1));
}

void modulate(ModulateCall const& call) {
    at::Tensor const mean = call.x.mean(-1, true);
    at::Tensor const rstd = (call.x.var(-1, false, true) + 1e-6).rsqrt();
    call.mean.copy_(mean.reshape({-1, 1}));
    call.rstd.copy_(rstd.reshape({-1, 1}));
    call.out.copy_((call.x - mean) * rstd * spread(call.scale1, call.x) +
                   spread(call.shift, call.x));
}

void modulate_backward(ModulateBackwardCall const& call) {
    auto const rows = call.x.sizes().slice(0, 3);
    std::vector<std::int64_t> const shape{rows[0], rows[1], rows[2], 1};
    at::Tensor const rstd = call.rstd.view(shape);
    at::Tensor const unit = (call.x - call.mean.view(shape)) * rstd;
    at::Tensor const of_unit = call.grad * spread(call.scale1, call.x);
    call.grad_x.copy_(rstd *
                      (of_unit - of_unit.mean(-1, true) - unit * (of_unit * unit).mean(-1, true)));
    put_sums(call.sums.select(2, 0), call.grad);
    put_sums(call.sums.select(2, 1), call.grad * unit);
}

void gate(GateCall const& call) {
    call.out.copy_(call.x + spread(call.gate, call.x) * call.y);
}

void gate_backward(GateBackwardCall const& call) {
    EXPECT_EQ(call.grad_y.strides(), call.y.strides());
    call.grad_y.copy_(call.grad * spread(call.gate, call.grad));
    put_sums(call.sums, (call.grad * call.y).contiguous());
}

/// (tokens, parts, heads, dim); `back`: by minus the angles.
at::Tensor turned(at::Tensor const& x, at::Tensor const& turns, bool back) {
    if (!turns.defined()) return x;
    at::Tensor const of_tokens = turns.repeat({x.size(0) / turns.size(0), 1, 1});
    at::Tensor const cos = of_tokens.select(-1, 0).unsqueeze(1).unsqueeze(1);
    at::Tensor const sin = of_tokens.select(-1, 1).unsqueeze(1).unsqueeze(1) * (back ? -1 : 1);
    auto const pairs = x.reshape({x.size(0), x.size(1), x.size(2), -1, 2}).unbind(-1);
    return at::stack({pairs[0] * cos - pairs[1] * sin, pairs[1] * cos + pairs[0] * sin}, -1)
        .view(x.sizes());
}

void head_norm(HeadNormCall const& call) {
    at::Tensor const unit = call.x * (call.x.square().mean(-1, true) + 1e-6).rsqrt();
    at::Tensor const all = turned(unit * call.weight.unsqueeze(1).unsqueeze(0), call.turns, false);
    for (std::int64_t part = 0; part < call.x.size(1); ++part)
        call.out[static_cast<std::size_t>(part)]
            .view_as(all.select(1, 0))
            .copy_(all.select(1, part));
}

void head_norm_backward(HeadNormBackwardCall const& call) {
    std::vector<at::Tensor> grads;
    for (std::int64_t part = 0; part < call.x.size(1); ++part)
        grads.push_back(call.grad[static_cast<std::size_t>(part)].view_as(call.x.select(1, 0)));
    at::Tensor const grad = turned(at::stack(grads, 1), call.turns, true);
    at::Tensor const rstd = (call.x.square().mean(-1, true) + 1e-6).rsqrt();
    at::Tensor const unit = call.x * rstd;
    at::Tensor const of_unit = grad * call.weight.unsqueeze(1).unsqueeze(0);
    call.grad_x.view_as(call.x).copy_(rstd * (of_unit - unit * (of_unit * unit).mean(-1, true)));
    call.sums.zero_();
    call.sums[0].copy_((grad * unit).sum(at::IntArrayRef{0, 2}));
}

FusedKernels const kOnCpu{at::kCPU,       &modulate,  &modulate_backward, &gate,
                          &gate_backward, &head_norm, &head_norm_backward};

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
    for (FusedKernels const* kernels : {static_cast<FusedKernels const*>(nullptr), &kOnCpu}) {
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
    use_fused_kernels(&kOnCpu);
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
    use_fused_kernels(&kOnCpu);
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
