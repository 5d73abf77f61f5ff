#include "plan/layout/encode_layout.hpp"

#include "base/text/units.hpp"
#include "plan/layout/separate_ranks.hpp"
#include "plan/memory.hpp"
#include "plan/model/model_sizes.hpp"
#include "plan/plan_context.hpp"
#include "plan/vae/vae_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

constexpr int kFramesAtOnce = 17;  // of a batch of short clips: the autoencoder's own chunk
constexpr int kEncodeWorkersMax = 8;

/// The model's shapes after the autoencoder in use.
Result<ModelShape> encoded_shape(RunConfig const& config) {
    OSORA_TRY(auto shape, model_shape(config.model));
    if (!config.encode.latents) return shape;
    OSORA_TRY(auto const vae, vae_sizes(config.vae.arch));
    shape.vae = {.temporal = static_cast<int>(vae.temporal.factor()),
                 .spatial = static_cast<int>(vae.spatial.factor()),
                 .chunk_frames = static_cast<int>(vae.micro_frame_size)};
    return shape;
}

BucketPlan bucket_plan(BucketSection const& section, BucketKey const& key) {
    BucketPlan plan;
    plan.resolution = section.resolution;
    plan.num_frames = section.num_frames;
    plan.height = key.height;
    plan.width = key.width;
    plan.micro_batch_size =
        section.micro_batch_size.value_or(std::max(1, kFramesAtOnce / section.num_frames));
    plan.global_batch_size = plan.micro_batch_size;
    return plan;
}

/// Bytes of the worst bucket, and its index.
struct Peak {
    std::int64_t bytes = 0;
    std::string bucket;
};

Peak peak_of(VaePipelineConfig const& vae, std::vector<BucketPlan> const& buckets) {
    constexpr std::int64_t kFloat = 4;
    Peak peak;
    for (BucketPlan const& bucket : buckets) {
        VaeClip const clip{.clips = bucket.micro_batch_size,
                           .frames = bucket.num_frames,
                           .height = bucket.height,
                           .width = bucket.width};
        std::int64_t const bytes = kFloat * encode_peak(vae, clip);
        if (bytes > peak.bytes)
            peak = {bytes, fmt::format("{} x {}", bucket.resolution, bucket.num_frames)};
    }
    return peak;
}

/// Memory of a GPU that a plan may fill; 0: no GPU, or unknown.
std::int64_t gpu_limit(PlanRequest const& request) {
    if (request.cluster.nodes.empty() || request.cluster.nodes.front().gpus.empty()) return 0;
    std::int64_t const known = request.cluster.nodes.front().gpus.front().memory_bytes;
    double const bytes = known > 0
                             ? static_cast<double>(known)
                             : request.config.memory.gpu_memory_gib * static_cast<double>(kGiB);
    return static_cast<std::int64_t>(MemoryConstants{}.usable_share * bytes);
}

/// Frames at once in the autoencoder: as set, else the largest of 4, 2, 1 that fits.
Result<void> choose_frames(PlanRequest const& request, PlanDecision& decision) {
    auto const& section = request.config.vae;
    OSORA_TRY(auto vae, vae_sizes(section.arch));
    vae.micro_frame_size =
        section.micro_frame_size.value_or(static_cast<int>(vae.micro_frame_size));
    vae.tile_sample_min_size = section.tile_sample_min_size;
    std::int64_t const limit = gpu_limit(request);
    vae.micro_batch_size = section.micro_batch_size.value_or(4);
    Peak peak = peak_of(vae, decision.chosen.buckets);
    while (section.micro_batch_size.is_auto() && limit > 0 && peak.bytes > limit &&
           vae.micro_batch_size > 1) {
        vae.micro_batch_size /= 2;
        peak = peak_of(vae, decision.chosen.buckets);
    }
    if (limit > 0 && peak.bytes > limit) {
        return Error{Errc::out_of_memory,
                     fmt::format("bucket {}: encoding takes {} at {} frames at once, {} may be "
                                 "used; vae.tile_sample_min_size = 256 or a smaller "
                                 "vae.micro_frame_size takes less",
                                 peak.bucket, format_bytes(peak.bytes), vae.micro_batch_size,
                                 format_bytes(limit))};
    }
    decision.chosen.vae_micro_batch_size = static_cast<int>(vae.micro_batch_size);
    decision.chosen.vae_micro_frame_size = static_cast<int>(vae.micro_frame_size);
    decision.predicted.peak_memory_gib =
        static_cast<double>(peak.bytes) / static_cast<double>(kGiB);
    decision.predicted.peak_bucket = peak.bucket;
    decision.reasons.push_back(
        fmt::format("autoencoder: {} frames at once, {} at its peak ({}), beside its weights",
                    vae.micro_batch_size, format_bytes(peak.bytes), peak.bucket));
    return {};
}

}  // namespace

Result<PlanDecision> plan_of_encode(PlanRequest const& request) {
    auto const& config = request.config;
    PlanDecision decision;
    LayoutPlan& chosen = decision.chosen;
    chosen = separate_ranks(request);
    chosen.num_workers =
        config.data.num_workers.value_or(std::clamp(core_share(request) - 1, 1, kEncodeWorkersMax));
    chosen.prefetch_factor = config.data.prefetch_factor.value_or(2);
    OSORA_TRY(auto const shape, encoded_shape(config));
    for (BucketSection const& section : config.bucket) {
        OSORA_TRY(auto const key, bucket_key(section, shape));
        chosen.buckets.push_back(bucket_plan(section, key));
    }
    if (config.encode.latents) OSORA_TRY_VOID(choose_frames(request, decision));
    decision.reasons.push_back("ranks divide the clips and do not wait for each other");
    return decision;
}

}  // namespace osora::plan
