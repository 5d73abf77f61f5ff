// At step i a rank has the block of the rank i places before it. The next block's transfer runs
// while the present one is computed, and so does that of the gradients which follow it.
#include "worker/model/ring_attention.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/block_attention.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

namespace osora::worker {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using BlockTokens = std::vector<std::int64_t>;

/// A tensor that is on its way from the rank before.
struct Incoming {
    at::Tensor values;
    std::unique_ptr<RingRanks::Passing> passing;
    [[nodiscard]] at::Tensor arrived() const {
        passing->wait();
        return values;
    }
};

class Ring {
public:
    Ring(RingRanks& ranks, std::int64_t rank, BlockTokens tokens)
        : ranks_(ranks), rank_(rank), tokens_(std::move(tokens)) {}

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
    /// Starts to pass `block` (2, groups, tokens, heads, head_dim) on; what comes is the block of
    /// the rank `step` places before this one.
    [[nodiscard]] Incoming pass_on(at::Tensor const& block, std::int64_t step) const {
        auto shape = block.sizes().vec();
        shape[2] = tokens_[static_cast<std::size_t>((rank_ - step + size()) % size())];
        at::Tensor const into = at::empty(shape, block.options());
        return {into, ranks_.pass_on(block, into)};
    }

private:
    RingRanks& ranks_;
    std::int64_t rank_;
    BlockTokens tokens_;
};

/// Kernels read rows of heads as they lie in memory.
at::Tensor with_dense_rows(at::Tensor const& x) {
    return x.stride(-1) == 1 ? x : x.contiguous();
}

PartialAttention attend_in_ring(Ring const& ring, at::Tensor const& q, at::Tensor const& k,
                                at::Tensor const& v) {
    auto const kernel = kernel_for(q);
    PartialAttention sum;
    at::Tensor held = at::stack({k, v});
    for (std::int64_t step = 0; step < ring.size(); ++step) {
        bool const last = step + 1 == ring.size();
        Incoming const next = last ? Incoming{} : ring.pass_on(held, step + 1);
        if (held.size(2) > 0 && q.size(1) > 0) {
            auto const part = attend_to_block(kernel, {q, held[0], held[1]});
            sum = sum.out.defined() ? merged(sum, part) : part;
        }
        if (!last) held = next.arrived();
    }
    if (!sum.out.defined()) return {at::empty_like(q), at::empty({q.size(0), q.size(2), 0})};
    sum.out = sum.out.to(q.scalar_type());
    return sum;
}

/// Of one block: k and v under a new first dimension.
at::Tensor key_gradients(AttentionGradients const& of, at::ScalarType type) {
    return at::stack({of.k.to(type), of.v.to(type)});
}

AttentionGradients gradients_in_ring(Ring const& ring, QueriesAndBlock const& own_values,
                                     PartialAttention const& whole, at::Tensor const& grad_out) {
    auto const& [q, k, v] = own_values;
    auto const kernel = kernel_for(q);
    auto const type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    at::Tensor dq = at::zeros(q.sizes(), q.options().dtype(type));
    at::Tensor held = at::stack({k, v}), own;
    Incoming sums;  // gradients of the next block, by the ranks that had it before
    for (std::int64_t step = 0; step < ring.size(); ++step) {
        bool const last = step + 1 == ring.size();
        Incoming const next = last ? Incoming{} : ring.pass_on(held, step + 1);
        at::Tensor of_block;
        if (held.size(2) > 0 && q.size(1) > 0) {
            auto const part = block_gradients(kernel, {q, held[0], held[1]}, whole, grad_out);
            dq.add_(part.q);
            of_block = key_gradients(part, type);
        } else {
            of_block = at::zeros(held.sizes(), held.options().dtype(type));
        }
        if (step == 0) {
            own = of_block;  // added when the other ranks' gradients of it are back
        } else {
            if (step > 1) of_block.add_(sums.arrived());
            sums = ring.pass_on(of_block, step + 1);
        }
        if (!last) held = next.arrived();
    }
    if (ring.size() > 1) own.add_(sums.arrived());
    return {dq, own[0], own[1]};
}

struct RingAttention : torch::autograd::Function<RingAttention> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& q, at::Tensor const& k,
                              at::Tensor const& v, RingPlace const& place) {
        // Autograd functions carry no pointers but as numbers.
        context->saved_data["ranks"] =
            static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(place.ring));
        context->saved_data["rank"] = static_cast<std::int64_t>(place.rank);
        context->saved_data["tokens"] = place.tokens;
        auto const result = attend_in_ring(Ring(*place.ring, place.rank, place.tokens), q, k, v);
        context->save_for_backward({q, k, v, result.out, result.lse});
        return result.out;
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        auto const saved = context->get_saved_variables();
        auto const address = static_cast<std::intptr_t>(context->saved_data.at("ranks").toInt());
        Ring const ring(*reinterpret_cast<RingRanks*>(address),
                        context->saved_data.at("rank").toInt(),
                        context->saved_data.at("tokens").toIntVector());
        auto const of = gradients_in_ring(ring, {saved[0], saved[1], saved[2]},
                                          {saved[3], saved[4]}, with_dense_rows(gradients[0]));
        auto const type = saved[0].scalar_type();
        return {of.q.to(type), of.k.to(type), of.v.to(type), {}};
    }
};

}  // namespace

at::Tensor ring_attention(RingPlace const& place, at::Tensor const& q, at::Tensor const& k,
                          at::Tensor const& v) {
    SavedKindScope const scores(SavedKind::scores);
    return RingAttention::apply(with_dense_rows(q), k, v, place);
}

}  // namespace osora::worker
