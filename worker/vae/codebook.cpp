#include "worker/vae/codebook.hpp"

#include "base/check.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr double kSmoothing = 1e-7;  // uses that every code is given
constexpr double kLogEps = 1e-10;

/// (B, C, ...) -> (B ..., C)
at::Tensor rows_of(at::Tensor const& z) {
    return z.movedim(1, -1).flatten(0, -2);
}

/// exp of the entropy of what share of the vectors took each code.
at::Tensor perplexity_of(at::Tensor const& uses) {
    at::Tensor const share = uses.div(uses.sum());
    return share.mul(share.add(kLogEps).log()).sum().neg().exp();
}

}  // namespace

Codebook::Codebook(Parameters& parameters, CodebookConfig const& config, std::string const& prefix)
    : config_(config),
      embeddings_(parameters.add(prefix + "embeddings", {config.n_codes, config.embedding_dim},
                                 TensorKind::buffer)),
      uses_(parameters.add(prefix + "N", {config.n_codes}, TensorKind::buffer)),
      sums_(parameters.add(prefix + "z_avg", {config.n_codes, config.embedding_dim},
                           TensorKind::buffer)) {}

void Codebook::initialise(at::Tensor const& vectors) {
    at::NoGradGuard const no_grad;
    OSORA_CHECK(vectors.sizes() == embeddings_.sizes(), "one vector a code");
    embeddings_.copy_(vectors);
    sums_.copy_(vectors);
    uses_.fill_(1);
}

bool Codebook::is_initialised() const {
    return uses_.sum().item<double>() > 0;
}

bool Codebook::any_dies(CodebookCounts const& counts) const {
    at::NoGradGuard const no_grad;
    at::Tensor const next = uses_.mul(config_.decay).add(counts.uses, 1 - config_.decay);
    return next.lt(config_.dead_below).any().item<bool>();
}

double Codebook::share_used() const {
    return uses_.ge(config_.dead_below).sum().item<double>() / static_cast<double>(config_.n_codes);
}

Quantized Codebook::quantize(at::Tensor const& z) const {
    OSORA_CHECK_EQ(z.size(1), config_.embedding_dim);
    Quantized out;
    at::Tensor nearest;  // (B, ..., C)
    {
        at::NoGradGuard const no_grad;
        at::Tensor const rows = rows_of(z);
        // |row - code|^2 without |row|^2, which is the same for all codes.
        at::Tensor const distance =
            at::addmm(embeddings_.square().sum(1), rows, embeddings_.t(), 1, -2);
        at::Tensor const codes = at::argmin(distance, 1);
        auto shape = z.movedim(1, -1).sizes().vec();
        nearest = embeddings_.index_select(0, codes).view(shape).movedim(-1, 1);
        shape.pop_back();
        out.codes = codes.view(shape);
        out.counts.uses = at::bincount(codes, {}, config_.n_codes).to(rows.scalar_type());
        out.counts.sums = at::zeros(embeddings_.sizes(), rows.options()).index_add_(0, codes, rows);
        out.perplexity = perplexity_of(out.counts.uses);
    }
    out.commitment_loss = z.sub(nearest).square().mean().mul(config_.commitment);
    out.embeddings = z.add(nearest.sub(z).detach());
    return out;
}

std::int64_t Codebook::update(CodebookCounts const& counts, at::Tensor const& restart) {
    at::NoGradGuard const no_grad;
    OSORA_CHECK(restart.sizes() == embeddings_.sizes(), "one vector a code");
    uses_.mul_(config_.decay).add_(counts.uses, 1 - config_.decay);
    sums_.mul_(config_.decay).add_(counts.sums, 1 - config_.decay);
    at::Tensor const all = uses_.sum();
    auto const codes = static_cast<double>(config_.n_codes);
    at::Tensor const smoothed = uses_.add(kSmoothing).div(all.add(codes * kSmoothing)).mul(all);
    at::Tensor const dead = uses_.lt(config_.dead_below).unsqueeze(1);
    embeddings_.copy_(at::where(dead, restart, sums_.div(smoothed.unsqueeze(1))));
    return dead.sum().item<std::int64_t>();
}

at::Tensor Codebook::draw_vectors(at::Tensor const& z, at::Generator const& generator) const {
    at::NoGradGuard const no_grad;
    at::Tensor rows = rows_of(z);
    if (rows.size(0) < config_.n_codes) {
        std::int64_t const times = (config_.n_codes + rows.size(0) - 1) / rows.size(0);
        rows = rows.repeat({times, 1});
        double const spread = 0.01 / std::sqrt(static_cast<double>(config_.embedding_dim));
        at::Tensor const noise = at::randn(rows.sizes(), generator, at::kFloat);
        rows = rows.add(noise.to(rows.options()), spread);
    }
    at::Tensor const order = at::randperm(rows.size(0), generator, at::kLong);
    return rows.index_select(0, order.narrow(0, 0, config_.n_codes).to(rows.device()));
}

}  // namespace osora::worker
