#include "plan/autoencoder/autoencoder_plan.hpp"

#include "base/text/units.hpp"
#include "plan/autoencoder/autoencoder_memory.hpp"
#include "plan/layout/batch_sizes.hpp"
#include "plan/layout/layout_search.hpp"
#include "plan/loader_choice.hpp"
#include "plan/worker_support.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

constexpr int kAutoencoderPrefetch = 2, kGradBucketMib = 25;

/// Convolutions cost the same for each pixel, so pixels represent FLOPs.
void cost_by_pixels(PlanContext& context) {
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        BucketKey const& key = context.keys[i];
        context.costs[i].forward_flops = double(key.num_frames) * key.height * key.width;
    }
}

GlobalBatches batches_of(PlanContext const& context) {
    auto const& batch = context.config.batch;
    if (!batch.global_batch_size.is_auto())
        return {equal_cost_globals(context, *batch.global_batch_size.value),
                fmt::format("global batch {} of {}: set by you", *batch.global_batch_size.value,
                            context.bucket_name(0))};
    std::int64_t const unit =
        batch_unit(context.ranks, context.config.bucket[0].micro_batch_size.value_or(0));
    std::int64_t const first = std::max<std::int64_t>(1, (batch.min + unit - 1) / unit) * unit;
    return {equal_cost_globals(context, first),
            fmt::format("global batch {}: the least that 1, 2 and 4 ranks share", first)};
}

/// Of both loaders, if there is one for evaluations.
Result<LoaderMemory> loader_of(PlanContext const& context, std::vector<std::int64_t> const& globals,
                               PieceChoice const& choice, LayoutPlan& layout) {
    auto const& data = context.config.data;
    layout.num_workers = data.num_workers.value_or(1);
    layout.prefetch_factor = data.prefetch_factor.value_or(kAutoencoderPrefetch);
    LoaderSizes sizes = smallest_loader(context, globals);
    sizes.num_workers = layout.num_workers;
    sizes.prefetch_factor = layout.prefetch_factor;
    auto budget = static_cast<std::int64_t>(data.host_memory_gib * kGiB) / context.ranks_per_node;
    if (context.host_bytes > 0)
        budget = std::min(budget, context.host_bytes / context.ranks_per_node -
                                      node_memory(choice.peak, {}, 1, context.gpu).rank_bytes);
    std::int64_t const evaluation = evaluation_bytes(context, choice.samples);
    auto memory = check_loader_memory(sizes, std::max<std::int64_t>(0, budget - evaluation));
    if (memory.has_error())
        return std::move(memory).error().in(loader_limit_name(context, budget, evaluation));
    memory->total_bytes += evaluation;
    return memory;
}

void add_buckets(PlanContext const& context, std::vector<std::int64_t> const& globals,
                 PieceChoice const& choice, LayoutPlan& layout) {
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        std::int64_t const samples = choice.samples[i];
        BucketPlan bucket;
        bucket.resolution = context.config.bucket[i].resolution;
        bucket.num_frames = context.config.bucket[i].num_frames;
        bucket.height = context.keys[i].height;
        bucket.width = context.keys[i].width;
        bucket.micro_batch_size = static_cast<int>(samples);
        bucket.grad_accum_steps = static_cast<int>(globals[i] / context.ranks / samples);
        bucket.global_batch_size = static_cast<int>(globals[i]);
        bucket.peak_memory_gib =
            gib(autoencoder_memory(context, i, samples, choice.pieces).tensor_bytes());
        layout.buckets.push_back(std::move(bucket));
    }
}

/// 0 means all frames; a worker gets a number that no clip reaches instead.
int listed_size(int frames, int all) {
    return frames > 0 ? frames : all;
}

}  // namespace

Result<PlanDecision> plan_autoencoder(PlanRequest const& request) {
    OSORA_TRY(PlanContext context, plan_context(request));
    cost_by_pixels(context);
    GlobalBatches const batches = batches_of(context);
    std::vector<std::int64_t> local;
    std::int64_t all_frames = 1;
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        local.push_back(batches.sizes[i] / context.ranks);
        all_frames = std::max(all_frames, local[i] * context.keys[i].num_frames);
    }
    auto const limit = rank_limit_bytes(context, batches.sizes);
    OSORA_TRY(PieceChoice const choice, choose_pieces(context, local, limit));
    PlanDecision decision;
    LayoutPlan& layout = decision.chosen;
    layout.dp_size = context.ranks;
    layout.precision = WorkerSupport{}.vae_precisions.front();
    layout.grad_bucket_mib = context.config.parallel.grad_bucket_mib.value_or(kGradBucketMib);
    layout.threads_per_rank = thread_counts(context).front();
    bool const vqvae = request.config.run.job == "train_vqvae";
    layout.vae_micro_batch_size =
        vqvae ? 0 : listed_size(choice.pieces.micro_batch_size, static_cast<int>(all_frames));
    layout.vae_micro_frame_size = choice.pieces.micro_frame_size;
    OSORA_TRY(auto const loader, loader_of(context, batches.sizes, choice, layout));
    add_buckets(context, batches.sizes, choice, layout);
    decision.predicted.peak_memory_gib = gib(choice.peak.tensor_bytes());
    decision.predicted.peak_bucket = context.bucket_name(choice.peak_bucket);
    decision.predicted.host_memory_gib =
        gib(node_memory(choice.peak, loader, context.ranks_per_node, context.gpu).total_bytes());
    decision.reasons = {batches.reason, choice.reason};
    if (choice.pieces.micro_batch_size > 0 || (vqvae && choice.pieces.micro_frame_size > 0))
        decision.reasons.push_back("pieces are computed again in backward: one more forward pass");
    if (vqvae && choice.pieces.micro_frame_size > 0)
        decision.reasons.push_back(
            "attention and norms of a VQ-VAE end at its pieces: each trains as a separate clip");
    if (layout.precision != request.config.optim.precision)
        decision.reasons.push_back(
            fmt::format("precision {}: {} is not done by this version's "
                        "worker",
                        layout.precision, request.config.optim.precision));
    decision.reasons.push_back("the time of a step is not predicted for this job");
    return decision;
}

}  // namespace osora::plan
