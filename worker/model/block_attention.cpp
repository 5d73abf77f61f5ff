#include "worker/model/block_attention.hpp"

#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>

#include <cmath>

namespace osora::worker {
namespace {

/// Heads before tokens, as PyTorch's kernels require.
at::Tensor by_head(at::Tensor const& x) {
    return x.transpose(1, 2);
}
at::Tensor by_token(at::Tensor const& x) {
    return x.transpose(1, 2);
}

at::ScalarType sum_type(at::Tensor const& x) {
    return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// (groups, heads, tokens) -> (groups, tokens, heads, 1).
at::Tensor row_factor(at::Tensor const& x) {
    return x.transpose(1, 2).unsqueeze(-1);
}

/// (groups, heads, tokens, keys).
at::Tensor scores_of(at::Tensor const& q, at::Tensor const& k) {
    auto const type = sum_type(q);
    double const scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    return at::matmul(by_head(q).to(type).mul(scale), by_head(k).to(type).transpose(2, 3));
}

PartialAttention by_products(QueriesAndBlock const& of) {
    auto const& [q, k, v] = of;
    at::Tensor const scores = scores_of(q, k);
    at::Tensor const lse = at::logsumexp(scores, -1);
    at::Tensor const weights = at::exp(scores.sub(lse.unsqueeze(-1)));
    at::Tensor const out = at::matmul(weights, by_head(v).to(weights.scalar_type()));
    return {by_token(out).to(q.scalar_type()), lse};
}

AttentionGradients gradients_by_products(QueriesAndBlock const& of, PartialAttention const& whole,
                                         at::Tensor const& grad_out) {
    auto const& [q, k, v] = of;
    auto const type = sum_type(q);
    double const scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
    at::Tensor const weights = at::exp(scores_of(q, k).sub(whole.lse.unsqueeze(-1)));
    at::Tensor const grad = by_head(grad_out).to(type);
    at::Tensor const of_row = grad.mul(by_head(whole.out).to(type)).sum(-1, true);
    at::Tensor const of_weights = at::matmul(grad, by_head(v).to(type).transpose(2, 3));
    at::Tensor const of_scores = weights.mul(of_weights.sub(of_row)).mul(scale);
    return {by_token(at::matmul(of_scores, by_head(k).to(type))),
            by_token(at::matmul(of_scores.transpose(2, 3), by_head(q).to(type))),
            by_token(at::matmul(weights.transpose(2, 3), grad))};
}

}  // namespace

AttentionKernel kernel_for(at::Tensor const& q) {
    if (q.is_cpu()) return AttentionKernel::fused;
    if (q.is_meta()) return AttentionKernel::products;  // the same exchanges
    bool const half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
    bool const fits = q.size(-1) % 8 == 0 && q.size(-1) <= 256;
    return half && fits ? AttentionKernel::fused : AttentionKernel::products;
}

PartialAttention attend_to_block(AttentionKernel kernel, QueriesAndBlock const& of) {
    if (kernel == AttentionKernel::products) return by_products(of);
    auto const& [q, k, v] = of;
    if (q.is_cpu()) {
        auto const [out, lse] =
            at::_scaled_dot_product_flash_attention_for_cpu(by_head(q), by_head(k), by_head(v));
        return {by_token(out), lse};
    }
    auto const results =
        at::_scaled_dot_product_flash_attention(by_head(q), by_head(k), by_head(v));
    return {by_token(std::get<0>(results)), std::get<1>(results)};
}

PartialAttention merged(PartialAttention const& a, PartialAttention const& b) {
    at::Tensor const lse = at::logaddexp(a.lse, b.lse);
    auto const share = [&](PartialAttention const& of) {
        return of.out.to(lse.scalar_type()).mul(row_factor(at::exp(of.lse.sub(lse))));
    };
    return {share(a).add_(share(b)), lse};
}

AttentionGradients block_gradients(AttentionKernel kernel, QueriesAndBlock const& of,
                                   PartialAttention const& whole, at::Tensor const& grad_out) {
    if (kernel == AttentionKernel::products) return gradients_by_products(of, whole, grad_out);
    auto const& [q, k, v] = of;
    at::Tensor dq, dk, dv;
    if (q.is_cpu()) {
        std::tie(dq, dk, dv) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
            by_head(grad_out), by_head(q), by_head(k), by_head(v), by_head(whole.out), whole.lse, 0,
            false);
    } else {
        at::Tensor const no_dropout = at::empty({2}, q.options().dtype(at::kLong));
        std::tie(dq, dk, dv) = at::_scaled_dot_product_flash_attention_backward(
            by_head(grad_out), by_head(q), by_head(k), by_head(v), by_head(whole.out), whole.lse,
            at::Tensor(), at::Tensor(), q.size(1), k.size(1), 0, false, no_dropout, no_dropout);
    }
    return {by_token(dq), by_token(dk), by_token(dv)};
}

}  // namespace osora::worker
