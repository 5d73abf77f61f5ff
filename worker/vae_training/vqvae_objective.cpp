#include "worker/vae_training/vqvae_objective.hpp"

#include "worker/memory/recompute.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/train/sample_rng.hpp"
#include "worker/vae_training/sum_over_ranks.hpp"

#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace osora::worker {
namespace {

constexpr double kDataVariance = 0.06;  // VideoGPT's, of frames in [-0.5, 0.5]

void add_to(std::vector<at::Tensor>& sums, std::vector<at::Tensor> const& more, double weight) {
    if (sums.empty())
        for (at::Tensor const& each : more) sums.push_back(each.mul(weight));
    else
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(more[i], weight);
}

double perplexity_of(at::Tensor const& uses) {
    at::Tensor const share = uses.to(at::kDouble).div(uses.sum());
    return share.mul(share.add(1e-10).log()).sum().neg().exp().item<double>();
}

}  // namespace

void VqvaeObjective::begin_step(int step) {
    step_ = step;
    sums_.reset();
    first_vectors_ = at::Tensor();
}

/// Vectors of the step's first piece, the same on every rank: rank 0's.
at::Tensor VqvaeObjective::restart_vectors() {
    auto const key =
        sample_key(options_.seed, 0, static_cast<std::uint64_t>(step_), RngPurpose::codebook);
    at::Tensor vectors =
        model_.codebook().draw_vectors(first_vectors_, generator_for(key, "codebook")).contiguous();
    copy_of_rank_0(options_.group, vectors);
    return vectors;
}

std::int64_t VqvaeObjective::piece_frames(std::int64_t all) const {
    return options_.micro_frame_size > 0 ? std::min(options_.micro_frame_size, all) : all;
}

bool VqvaeObjective::awaits_samples() const {
    return !model_.codebook().is_initialised();
}

void VqvaeObjective::see(MicroBatch const& first) {
    at::NoGradGuard const no_grad;
    at::Tensor const piece = first.x.narrow(2, 0, piece_frames(first.x.size(2)));
    first_vectors_ = model_.encode(piece.mul(0.5), true, nullptr);
}

void VqvaeObjective::start() {
    at::NoGradGuard const no_grad;
    model_.codebook().initialise(restart_vectors());
}

void VqvaeObjective::count(Quantized const& codes, NormLog const& log,
                           at::Tensor const& mean_square, double weight) {
    at::NoGradGuard const no_grad;
    auto const options = codes.counts.sums.options();
    at::Tensor const error = mean_square.mul(weight).view({1});
    if (!sums_) {
        sums_.emplace(Sums{codes.counts, {}, error, at::full({1}, weight, options)});
    } else {
        sums_->counts.uses.add_(codes.counts.uses);
        sums_->counts.sums.add_(codes.counts.sums);
        sums_->squared_error.add_(error);
        sums_->weight.add_(weight);
    }
    add_to(sums_->norms.means, log.means, weight);
    add_to(sums_->norms.variances, log.variances, weight);
}

/// Loss of frames that represent `weight` of the clips of a step.
at::Tensor VqvaeObjective::piece_loss(at::Tensor const& x, double weight, bool counted) {
    NormLog log;
    NormLog* const kept = counted ? &log : nullptr;
    at::Tensor const z = model_.encode(x, true, kept);
    if (!first_vectors_.defined()) first_vectors_ = z.detach();
    auto const codes = model_.codebook().quantize(z);
    at::Tensor const x_rec = model_.decode(codes.embeddings, true, kept);
    if (counted) {
        at::NoGradGuard const no_grad;
        count(codes, log, x_rec.clamp(-0.5, 0.5).sub(x).square().mean(), weight);
    }
    return x_rec.sub(x).square().mean().div(kDataVariance).add(codes.commitment_loss);
}

at::Tensor VqvaeObjective::held_out_loss(MicroBatch const& batch) {
    at::Tensor const x = batch.x.mul(0.5);
    std::int64_t const all = x.size(2);
    at::Tensor sum;
    for (at::Tensor const& piece : x.split(piece_frames(all), 2)) {
        auto const codes = model_.codebook().quantize(model_.encode(piece, false, nullptr));
        at::Tensor const x_rec = model_.decode(codes.embeddings, false, nullptr);
        at::Tensor const loss =
            x_rec.sub(piece).square().mean().div(kDataVariance).add(codes.commitment_loss);
        double const share = static_cast<double>(piece.size(2)) / static_cast<double>(all);
        sum = sum.defined() ? sum.add(loss, share) : loss.mul(share);
    }
    return sum;
}

at::Tensor VqvaeObjective::loss(MicroBatch const& batch) {
    if (awaits_samples()) {  // one rank alone; the trainer has done it for all of several
        see(batch);
        start();
    }
    at::Tensor const x = batch.x.mul(0.5);
    std::int64_t const all = x.size(2), most = piece_frames(all);
    auto const clips = static_cast<double>(x.size(0));
    if (most >= all) return piece_loss(x, clips, true);
    at::Tensor loss;
    for (at::Tensor const& piece : x.split(most, 2)) {
        double const share = static_cast<double>(piece.size(2)) / static_cast<double>(all);
        // Run twice, counted once.
        Part const part = [this, weight = clips * share](std::vector<at::Tensor> const& inputs) {
            return std::vector{piece_loss(inputs[0], weight, !c10::GradMode::is_enabled())};
        };
        at::Tensor const of_piece =
            recompute(part, {piece}, model_.parameters().trainable())[0].mul(share);
        loss = loss.defined() ? loss.add(of_piece) : of_piece;
    }
    return loss;
}

void VqvaeObjective::after_update() {
    if (!sums_) return;
    at::NoGradGuard const no_grad;
    std::vector all{sums_->counts.uses, sums_->counts.sums, sums_->squared_error, sums_->weight};
    for (auto const* each : {&sums_->norms.means, &sums_->norms.variances})
        all.insert(all.end(), each->begin(), each->end());
    sum_over_ranks(options_.group, all);
    for (auto* each : {&sums_->norms.means, &sums_->norms.variances})
        for (at::Tensor& tensor : *each) tensor.div_(sums_->weight);
    model_.move_norms(sums_->norms);
    auto& codebook = model_.codebook();
    bool const restarts = codebook.any_dies(sums_->counts);
    std::int64_t const restarted =
        codebook.update(sums_->counts, restarts ? restart_vectors() : sums_->counts.sums);
    double const mean_square = sums_->squared_error.div(sums_->weight).item<double>();
    figures_ = {{"perplexity", perplexity_of(sums_->counts.uses)},
                {"codes_used", codebook.share_used()},
                {"codes_restarted", static_cast<double>(restarted)},
                {"psnr_db", -10 * std::log10(mean_square)}};
}

}  // namespace osora::worker
