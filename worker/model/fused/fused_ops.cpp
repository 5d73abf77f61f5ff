#include "worker/model/fused/fused_ops.hpp"

#include "worker/memory/saved_kind.hpp"
#include "worker/model/fused/fused_kernels.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <functional>

namespace osora::worker {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

FusedKernels const* in_use = nullptr;

constexpr std::int64_t kThreadsMost = 1024, kGroupsMost = 65535;
constexpr std::int64_t kBlocks = 1056;  // of a backward pass that adds up over rows: 8 per SM

/// Numbers in 16 bytes, which a thread reads at a time.
std::int64_t vector_of(at::Tensor const& x) {
    return 16 / x.element_size();
}

bool has_kernels(at::Tensor const& x) {
    auto const type = x.scalar_type();
    return in_use != nullptr && x.device().type() == in_use->device &&
           (type == at::kBFloat16 || type == at::kHalf || type == at::kFloat);
}

bool is_aligned(at::Tensor const& x) {
    return reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

/// Rows of the last dimension may be anywhere, each aligned.
bool has_rows(at::Tensor const& x) {
    std::int64_t const vector = vector_of(x);
    auto const strides = x.strides().slice(0, static_cast<std::size_t>(x.dim()) - 1);
    return x.stride(-1) == 1 && is_aligned(x) &&
           std::ranges::all_of(strides,
                               [vector](std::int64_t stride) { return stride % vector == 0; });
}

at::Tensor with_rows(at::Tensor const& x) {
    return has_rows(x) ? x : x.clone(at::MemoryFormat::Contiguous);
}

/// (B, S, hidden) as (B, 1, S, hidden).
at::Tensor in_four(at::Tensor const& x) {
    return x.dim() == 3 ? x.unsqueeze(1) : x;
}

/// (B, T or 1, 1, hidden) for x (B, T, S, hidden).
bool is_for_groups(at::Tensor const& rows, at::Tensor const& x) {
    return rows.dim() == 4 && rows.size(0) == x.size(0) && rows.size(2) == 1 &&
           (rows.size(1) == 1 || rows.size(1) == x.size(1)) && rows.size(3) == x.size(3) &&
           rows.size(0) * rows.size(1) <= kGroupsMost;
}

bool rows_fit(at::Tensor const& x, at::Tensor const& rows) {
    if (!has_kernels(x) || (x.dim() != 3 && x.dim() != 4) || x.numel() == 0) return false;
    std::int64_t const hidden = x.size(-1), vector = vector_of(x);
    return hidden % vector == 0 && hidden / vector <= kThreadsMost &&
           rows.scalar_type() == x.scalar_type() && rows.dim() == x.dim() &&
           is_for_groups(in_four(rows), in_four(x));
}

at::Tensor groups_of(at::Tensor const& rows) {
    return with_rows(rows.reshape({-1, rows.size(-1)}).contiguous());
}

/// Chunks of rows a group, for about kBlocks in all.
std::int64_t chunks_of(at::Tensor const& x, std::int64_t groups) {
    std::int64_t const rows = x.numel() / x.size(-1) / groups;
    return std::clamp((kBlocks + groups - 1) / groups, std::int64_t{1}, rows);
}

at::Tensor floats(at::Tensor const& like, std::vector<std::int64_t> const& shape) {
    return at::empty(shape, like.options().dtype(at::kFloat));
}

/// x, scale1 and shift in four dimensions.
struct ModulatedNorm : torch::autograd::Function<ModulatedNorm> {
    static at::Tensor forward(AutogradContext* ctx, at::Tensor const& x, at::Tensor const& shift,
                              at::Tensor const& scale1, bool by_place) {
        std::int64_t const rows = x.numel() / x.size(3);
        at::Tensor const groups = groups_of(scale1);
        at::Tensor const out =
            by_place ? at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options())
                           .transpose(1, 2)
                     : at::empty_like(x);
        at::Tensor const mean = floats(x, {rows, 1}), rstd = floats(x, {rows, 1});
        in_use->modulate({x, groups_of(shift), groups, out, mean, rstd});
        ctx->save_for_backward({x, groups, mean, rstd});
        ctx->saved_data["rows"] = shift.sizes().vec();
        return out;
    }

    static variable_list backward(AutogradContext* ctx, variable_list const& grads) {
        auto const saved = ctx->get_saved_variables();
        at::Tensor const &x = saved[0], &groups = saved[1];
        auto const rows = ctx->saved_data["rows"].toIntVector();
        at::Tensor const grad_x = at::empty_like(x);
        at::Tensor const sums =
            floats(x, {groups.size(0), chunks_of(x, groups.size(0)), 2, groups.size(1)});
        in_use->modulate_backward(
            {with_rows(grads[0]), x, groups, saved[2], saved[3], grad_x, sums});
        auto const both = sums.sum(1).to(x.scalar_type()).unbind(1);
        return {grad_x, both[0].reshape(rows), both[1].reshape(rows), {}};
    }
};

struct GatedSum : torch::autograd::Function<GatedSum> {
    static at::Tensor forward(AutogradContext* ctx, at::Tensor const& x, at::Tensor const& gate,
                              at::Tensor const& y) {
        at::Tensor const groups = groups_of(gate), out = at::empty_like(x);
        in_use->gate({x, groups, y, out});
        ctx->save_for_backward({groups, y});
        ctx->saved_data["rows"] = gate.sizes().vec();
        return out;
    }

    static variable_list backward(AutogradContext* ctx, variable_list const& grads) {
        auto const saved = ctx->get_saved_variables();
        at::Tensor const &groups = saved[0], grad = with_rows(grads[0].contiguous());
        // What a store gives back is contiguous, whatever was kept.
        at::Tensor const& y = saved[1];
        at::Tensor const grad_y = at::empty_strided(y.sizes(), y.strides(), y.options());
        at::Tensor const sums =
            floats(y, {groups.size(0), chunks_of(y, groups.size(0)), groups.size(1)});
        in_use->gate_backward({grad, groups, y, grad_y, sums});
        return {grad,
                sums.sum(1).to(y.scalar_type()).reshape(ctx->saved_data["rows"].toIntVector()),
                grad_y};
    }
};

/// (B, tokens, parts, heads, dim) as (B tokens, parts, heads, dim).
at::Tensor tokens_of(at::Tensor const& x) {
    return x.flatten(0, 1);
}

bool heads_fit(at::Tensor const& x, at::Tensor const& weight, at::Tensor const& turns) {
    if (!has_kernels(x) || x.dim() != 5 || x.numel() == 0 || x.size(2) > 2) return false;
    std::int64_t const dim = x.size(4), vector = vector_of(x);
    bool const joined = x.stride(4) == 1 && x.stride(3) == dim && x.stride(2) == dim * x.size(3) &&
                        (x.size(0) == 1 || x.stride(0) == x.stride(1) * x.size(1)) && has_rows(x);
    bool const turned = !turns.defined() || (turns.size(0) == x.size(1) && turns.is_contiguous());
    return joined && turned && dim % vector == 0 && dim / vector <= 32 &&
           weight.scalar_type() == x.scalar_type();
}

/// Not a tensor among the arguments, where an undefined one is not allowed.
using Turns = std::optional<at::Tensor>;

struct HeadNorms : torch::autograd::Function<HeadNorms> {
    static variable_list forward(AutogradContext* ctx, at::Tensor const& x,
                                 at::Tensor const& weight, Turns const& rotation) {
        at::Tensor const turns = rotation.value_or(at::Tensor());
        at::Tensor const tokens = tokens_of(x), own = with_rows(weight.contiguous());
        std::array<at::Tensor, 2> out;
        variable_list results;
        for (std::int64_t part = 0; part < x.size(2); ++part) {
            results.push_back(at::empty({x.size(0), x.size(1), x.size(3), x.size(4)}, x.options()));
            out[static_cast<std::size_t>(part)] = results.back();
        }
        in_use->head_norm({tokens, own, turns, out});
        ctx->save_for_backward({x, own, turns});
        return results;
    }

    static variable_list backward(AutogradContext* ctx, variable_list const& grads) {
        auto const saved = ctx->get_saved_variables();
        at::Tensor const &x = saved[0], &weight = saved[1];
        at::Tensor const tokens = tokens_of(x);
        std::array<at::Tensor, 2> of;
        for (std::size_t part = 0; part < grads.size(); ++part) {
            of[part] = grads[part].defined()
                           ? with_rows(grads[part].contiguous())
                           : at::zeros({x.size(0), x.size(1), x.size(3), x.size(4)}, x.options());
        }
        at::Tensor const grad_x = at::empty(x.sizes(), x.options());
        std::int64_t const blocks = std::min(kBlocks / x.size(2), tokens.size(0));
        at::Tensor const sums = floats(x, {blocks, x.size(2), x.size(4)});
        in_use->head_norm_backward({of, tokens, weight, saved[2], grad_x, sums});
        return {grad_x, sums.sum(0).to(x.scalar_type()).reshape(weight.sizes()), {}};
    }
};

variable_list norms_of(at::Tensor const& x, at::Tensor const& weight, at::Tensor const& turns) {
    return HeadNorms::apply(x, weight, turns.defined() ? Turns(turns) : std::nullopt);
}

template <std::int64_t kPart>
at::Tensor remake_head(std::vector<at::Tensor> const& from) {
    return norms_of(from[0].narrow(2, kPart, 1), from[1].narrow(0, kPart, 1),
                    from.size() == 3 ? from[2] : at::Tensor())
        .front();
}

}  // namespace

void use_fused_kernels(FusedKernels const* kernels) {
    in_use = kernels;
}

std::optional<at::Tensor> fused_modulated(at::Tensor const& x, at::Tensor const& shift,
                                          at::Tensor const& scale1, TokenOrder order) {
    if (!rows_fit(x, shift) || scale1.sizes() != shift.sizes()) return std::nullopt;
    at::Tensor const own = with_rows(x.contiguous());
    // A store computes results again as contiguous tensors.
    bool const by_place = order == TokenOrder::by_place && x.dim() == 4 && !store_is_open();
    at::Tensor const out =
        ModulatedNorm::apply(in_four(own), in_four(shift), in_four(scale1), by_place)
            .view(x.sizes());
    return remade(out, {own, shift, scale1}, [](auto const& from) {
        return ModulatedNorm::apply(in_four(from[0]), in_four(from[1]), in_four(from[2]), false)
            .view(from[0].sizes());
    });
}

std::optional<at::Tensor> fused_gated(at::Tensor const& x, at::Tensor const& gate,
                                      at::Tensor const& y) {
    if (!rows_fit(x, gate) || y.sizes() != x.sizes() || y.scalar_type() != x.scalar_type())
        return std::nullopt;
    at::Tensor const own = with_rows(x.contiguous());
    at::Tensor const dense = y.is_non_overlapping_and_dense() ? y : y.contiguous();
    return GatedSum::apply(in_four(own), in_four(gate), in_four(with_rows(dense))).view(x.sizes());
}

std::optional<std::vector<at::Tensor>> fused_head_norms(at::Tensor const& x,
                                                        at::Tensor const& weight,
                                                        at::Tensor const& turns) {
    if (!heads_fit(x, weight, turns)) return std::nullopt;
    auto results = norms_of(x, weight, turns);
    for (std::size_t part = 0; part < results.size(); ++part) {
        auto const make = part == 0 ? &remake_head<0> : &remake_head<1>;
        if (turns.defined()) {
            results[part] = remade(results[part], {x, weight, turns}, make);
        } else {
            results[part] = remade(results[part], {x, weight}, make);
        }
    }
    return results;
}

}  // namespace osora::worker
