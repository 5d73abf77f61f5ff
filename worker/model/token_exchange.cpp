#include "worker/model/token_exchange.hpp"

#include "base/check.hpp"
#include "worker/model/ring_attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace osora::worker {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Counts = std::vector<std::int64_t>;

// Autograd functions carry no pointers but as numbers.
c10::IValue handle(TokenRanks* ranks) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(ranks));
}
TokenRanks& ranks_of(AutogradContext const& context) {
    auto const value = static_cast<std::intptr_t>(context.saved_data.at("ranks").toInt());
    return *reinterpret_cast<TokenRanks*>(value);
}

/// An exchange whose gradient is the exchange back.
struct Exchange : torch::autograd::Function<Exchange> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& values, TokenRanks* ranks,
                              Counts const& send, Counts const& receive) {
        context->saved_data["ranks"] = handle(ranks);
        context->saved_data["send"] = send;
        context->saved_data["receive"] = receive;
        return ranks->all_to_all(values, send, receive);
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        auto const send = context->saved_data["send"].toIntVector();
        auto const receive = context->saved_data["receive"].toIntVector();
        at::Tensor const back =
            ranks_of(*context).all_to_all(gradients[0].contiguous(), receive, send);
        return {back, {}, {}, {}};
    }
};

/// Concatenates the runs of all ranks; the gradient of this rank's own run is its part.
struct Gather : torch::autograd::Function<Gather> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& own, TokenRanks* ranks,
                              std::int64_t dim, std::int64_t tokens) {
        auto const span = token_span(tokens, ranks->size(), ranks->rank());
        std::int64_t const most = token_span(tokens, ranks->size(), 0).count;
        context->saved_data["dim"] = dim;
        context->saved_data["begin"] = span.begin;
        context->saved_data["count"] = span.count;
        at::Tensor padded = own.movedim(dim, 0);
        if (span.count < most) {
            Counts pad(2 * static_cast<std::size_t>(padded.dim()), 0);
            pad.back() = most - span.count;
            padded = at::constant_pad_nd(padded, pad);
        }
        auto const of_ranks = ranks->all_gather(padded.contiguous()).unbind(0);
        std::vector<at::Tensor> runs;
        for (int rank = 0; rank < ranks->size(); ++rank) {
            std::int64_t const count = token_span(tokens, ranks->size(), rank).count;
            runs.push_back(of_ranks[static_cast<std::size_t>(rank)].narrow(0, 0, count));
        }
        return at::cat(runs).movedim(0, dim);
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        auto const number = [&](char const* name) { return context->saved_data[name].toInt(); };
        at::Tensor const own = gradients[0].narrow(number("dim"), number("begin"), number("count"));
        return {own, {}, {}, {}};
    }
};

std::int64_t runs_of(Counts const& sequences, int ranks, int rank) {
    std::int64_t tokens = 0;
    for (std::int64_t const length : sequences) tokens += token_span(length, ranks, rank).count;
    return tokens;
}

at::Tensor gather_runs(TokenRanks& ranks, at::Tensor const& own, std::int64_t dim,
                       Counts const& sequences) {
    int const size = ranks.size();
    std::int64_t most = 0;
    for (int rank = 0; rank < size; ++rank) most = std::max(most, runs_of(sequences, size, rank));
    at::Tensor padded = own;
    if (own.size(dim) < most) {
        Counts pad(2 * static_cast<std::size_t>(own.dim() - dim), 0);
        pad.back() = most - own.size(dim);
        padded = at::constant_pad_nd(own, pad);
    }
    auto const of_ranks = ranks.all_gather(padded.contiguous()).unbind(0);
    std::vector<at::Tensor> runs;
    Counts begins(of_ranks.size(), 0);
    for (std::int64_t const length : sequences) {
        for (int rank = 0; rank < size; ++rank) {
            auto const at = static_cast<std::size_t>(rank);
            std::int64_t const count = token_span(length, size, rank).count;
            runs.push_back(of_ranks[at].narrow(dim, begins[at], count));
            begins[at] += count;
        }
    }
    return at::cat(runs, dim);
}

at::Tensor sum_runs(TokenRanks& ranks, at::Tensor const& partial, std::int64_t dim,
                    Counts const& sequences) {
    int const size = ranks.size();
    std::int64_t const per_token = partial.numel() / partial.size(dim);
    std::vector<at::Tensor> runs;
    Counts send;
    for (int rank = 0; rank < size; ++rank) {
        std::vector<at::Tensor> of_rank;
        std::int64_t begin = 0;
        for (std::int64_t const length : sequences) {
            auto const span = token_span(length, size, rank);
            of_rank.push_back(partial.narrow(dim, begin + span.begin, span.count));
            begin += length;
        }
        runs.push_back(at::cat(of_rank, dim).reshape(-1));
        send.push_back(runs.back().numel());
    }
    auto shape = partial.sizes().vec();
    shape[static_cast<std::size_t>(dim)] = runs_of(sequences, size, ranks.rank());
    std::int64_t const own = shape[static_cast<std::size_t>(dim)] * per_token;
    Counts const receive(static_cast<std::size_t>(size), own);
    shape.insert(shape.begin(), size);
    return ranks.all_to_all(at::cat(runs), send, receive).view(shape).sum(0);
}

/// Either way: what one does in forward, the other does with its gradient.
template <bool kGathers>
struct SharedRuns : torch::autograd::Function<SharedRuns<kGathers>> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& x, TokenRanks* ranks,
                              std::int64_t dim, Counts const& sequences) {
        context->saved_data["ranks"] = handle(ranks);
        context->saved_data["dim"] = dim;
        context->saved_data["sequences"] = sequences;
        return (kGathers ? gather_runs : sum_runs)(*ranks, x, dim, sequences);
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        auto const dim = context->saved_data["dim"].toInt();
        auto const sequences = context->saved_data["sequences"].toIntVector();
        auto const back = kGathers ? sum_runs : gather_runs;
        return {back(ranks_of(*context), gradients[0], dim, sequences), {}, {}, {}};
    }
};

/// (groups, own tokens, parts, heads, head_dim) -> (groups, all tokens, parts, heads / ranks,
/// head_dim), the tokens of rank 0 first; or, with the sizes swapped, back.
at::Tensor tokens_for_heads(TokenRanks* ranks, at::Tensor const& x, Counts const& tokens) {
    std::int64_t const size = ranks->size();
    std::int64_t const groups = x.size(0), own = x.size(1), parts = x.size(2), dim = x.size(4);
    std::int64_t const heads = x.size(3) / size;
    std::int64_t const per_token = groups * parts * heads * dim;
    at::Tensor const by_rank =
        x.view({groups, own, parts, size, heads, dim}).permute({3, 1, 0, 2, 4, 5});
    Counts receive;
    for (std::int64_t const each : tokens) receive.push_back(each * per_token);
    Counts const send(static_cast<std::size_t>(size), own * per_token);
    // Tokens before groups: what comes from ranks one after the other is then one tensor.
    at::Tensor const all = Exchange::apply(by_rank.reshape(-1), ranks, send, receive)
                               .view({-1, groups, parts, heads, dim});
    return all.transpose(0, 1);
}

/// (groups, all tokens, heads / ranks, head_dim) -> (groups, own tokens, heads, head_dim).
at::Tensor heads_for_tokens(TokenRanks* ranks, at::Tensor const& x, Counts const& tokens) {
    std::int64_t const size = ranks->size();
    std::int64_t const groups = x.size(0), heads = x.size(2), dim = x.size(3);
    std::int64_t const own = tokens[static_cast<std::size_t>(ranks->rank())];
    std::int64_t const per_token = groups * heads * dim;
    Counts send;
    for (std::int64_t const each : tokens) send.push_back(each * per_token);
    Counts const receive(static_cast<std::size_t>(size), own * per_token);
    return Exchange::apply(x.transpose(0, 1).reshape(-1), ranks, send, receive)
        .view({size, own, groups, heads, dim})
        .permute({2, 1, 0, 3, 4})
        .reshape({groups, own, size * heads, dim});
}

}  // namespace

TokenSpan token_span(std::int64_t tokens, int ranks, int rank) {
    std::int64_t const each = tokens / ranks, more = tokens % ranks;
    return {rank * each + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

at::Tensor own_tokens(TokenRanks const* ranks, at::Tensor const& x, std::int64_t dim) {
    if (ranks == nullptr) return x;
    auto const span = token_span(x.size(dim), ranks->size(), ranks->rank());
    return x.narrow(dim, span.begin, span.count);
}

at::Tensor all_tokens(TokenRanks* ranks, at::Tensor const& x, std::int64_t dim,
                      std::int64_t tokens) {
    return ranks == nullptr ? x : Gather::apply(x, ranks, dim, tokens);
}

SharedTokens shared_run(TokenRanks* linears, TokenRanks const* tokens,
                        std::vector<std::int64_t> const& sequences) {
    SharedTokens shared{linears, sequences};
    if (tokens == nullptr) return shared;
    for (std::int64_t& length : shared.sequences)
        length = token_span(length, tokens->size(), tokens->rank()).count;
    return shared;
}

std::int64_t own_count(SharedTokens const& shared) {
    int const ranks = shared.ranks == nullptr ? 1 : shared.ranks->size();
    return runs_of(shared.sequences, ranks, shared.ranks == nullptr ? 0 : shared.ranks->rank());
}

TensorShare share_of(TokenRanks const* linears) {
    return linears == nullptr ? TensorShare{} : TensorShare{linears->rank(), linears->size()};
}

at::Tensor gathered_tokens(SharedTokens const& shared, at::Tensor const& own, std::int64_t dim) {
    if (shared.ranks == nullptr) return own;
    return SharedRuns<true>::apply(own, shared.ranks, dim, shared.sequences);
}

at::Tensor summed_tokens(SharedTokens const& shared, at::Tensor const& partial, std::int64_t dim) {
    if (shared.ranks == nullptr) return partial;
    return SharedRuns<false>::apply(partial, shared.ranks, dim, shared.sequences);
}

at::Tensor attention_over(SharedTokens const& shared, at::Tensor const& q, at::Tensor const& k,
                          at::Tensor const& v, Attention const& attention) {
    TokenRanks* const ranks = shared.ranks;
    if (ranks == nullptr) return attention(q, k, v);
    Counts tokens(static_cast<std::size_t>(ranks->size()), 0);
    for (std::int64_t const length : shared.sequences)
        for (std::size_t rank = 0; rank < tokens.size(); ++rank)
            tokens[rank] += token_span(length, ranks->size(), static_cast<int>(rank)).count;
    OSORA_CHECK_EQ(q.size(1), tokens[static_cast<std::size_t>(ranks->rank())]);
    if (RingRanks* const ring = ranks->ring())
        return ring_attention({ring, ranks->rank(), tokens}, q, k, v);
    OSORA_CHECK_EQ(q.size(2) % ranks->size(), 0);
    auto const all = tokens_for_heads(ranks, at::stack({q, k, v}, 2), tokens).unbind(2);
    return heads_for_tokens(ranks, attention(all[0], all[1], all[2]), tokens);
}

}  // namespace osora::worker
