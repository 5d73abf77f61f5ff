// Enumerates what is open, drops what does not fit, keeps the fastest.
#include "plan/layout/layout_search.hpp"

#include "base/check.hpp"
#include "base/text/units.hpp"
#include "plan/model/trained_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace osora::plan {
namespace {

constexpr double kNearlyFastest = 1.02;
constexpr std::array kGradBucketsMib{25, 1, 2, 4, 8, 16, 50, 100};  // 25 wins ties
constexpr int kUnusedGradBucket = 25;

std::vector<std::int64_t> divisors(std::int64_t total) {
    std::vector<std::int64_t> found;
    for (std::int64_t each = 1; each <= total; ++each) {
        if (total % each == 0) found.push_back(each);
    }
    return found;
}

Result<std::vector<BucketChoice>> choose_all(PlanContext const& context,
                                             std::vector<std::int64_t> const& globals,
                                             Candidate const& candidate) {
    auto const limit = rank_limit_bytes(context, globals);
    std::vector<BucketChoice> chosen;
    for (std::size_t i = 0; i < globals.size(); ++i) {
        StepQuery query = step_query(context, i, candidate.threads);
        query.grad_bucket_mib = candidate.grad_bucket_mib;
        OSORA_TRY(BucketChoice choice,
                  choose_micro_batch(context, i, query, globals[i] / context.dp_size(), limit));
        chosen.push_back(choice);
    }
    return chosen;
}

std::vector<int> grad_buckets(PlanContext const& context) {
    auto const& wanted = context.config.parallel.grad_bucket_mib;
    if (!wanted.is_auto()) return {*wanted.value};
    if (context.ranks == 1) return {kUnusedGradBucket};
    return {kGradBucketsMib.begin(), kGradBucketsMib.end()};
}

/// What the store "offload" moves to the host must fit there.
bool fits_host(PlanContext const& context, RankMemory const& memory) {
    return context.host_bytes == 0 ||
           context.ranks_per_node * memory.stored_on_host_bytes <= context.host_bytes;
}

std::string host_too_small(PlanContext const& context, std::size_t bucket,
                           RankMemory const& memory) {
    return fmt::format(
        "bucket {}: activation_store \"offload\" keeps {} a rank in host memory; a node of {} "
        "ranks has {}",
        context.bucket_name(bucket), format_bytes(memory.stored_on_host_bytes),
        context.ranks_per_node, format_bytes(context.host_bytes));
}

/// A cached sample with its caption, fp32.
std::int64_t latent_bytes(PlanContext const& context, std::size_t bucket) {
    ModelShape const& shape = context.shape;
    std::int64_t const values =
        context.costs[bucket].tokens() * shape.patch_volume() * shape.in_channels;
    return 4 * (values + std::int64_t{shape.text_tokens} * shape.caption_channels);
}

}  // namespace

RankMemory micro_batch_memory(PlanContext const& context, std::size_t bucket,
                              std::int64_t micro_batch_size, bool accumulates,
                              int grad_bucket_mib) {
    int const open_mib = std::max(kGradBucketsMib.front(), grad_bucket_mib);
    return rank_memory(
        {.shape = context.shape,
         .bucket = context.peak_keys[bucket],
         .micro_batch_size = static_cast<int>(micro_batch_size),
         .dp_size = context.dp_size(),
         .sp_size = context.sp_size,
         .sp_kind = context.sp_kind,
         .tp_size = context.tp_size,
         .pp_size = context.pp_size,
         .virtual_stages = context.virtual_stages,
         .eager = context.eager,
         .run_ends = context.run_ends,
         .gpu = context.gpu,
         .precision = context.precision,
         .reduce_dtype = context.reduce_dtype,
         .ema = context.config.optim.ema_decay > 0,
         .lora_rank = context.config.optim.lora_rank,
         .zero_stage = context.zero_stage,
         .shard_size = context.shard_size,
         .accumulates = accumulates,
         .grad_bucket_mib = context.config.parallel.grad_bucket_mib.value_or(open_mib),
         .freeze = context.config.optim.freeze,
         .activations = context.activations,
         .offload_frozen = context.offload_frozen,
         .fused_kernels = context.gpu && context.config.debug.kernels == "fused",
         .workspace_bytes = context.gpu ? kGpuWorkspaceBytes : 0});
}

std::string micro_batch_too_large(PlanContext const& context, std::size_t bucket,
                                  std::int64_t micro_batch_size, RankMemory const& memory,
                                  std::int64_t limit_bytes) {
    return fmt::format(
        "bucket {}: micro-batch {} needs {} a rank ({} of it activations), {} has "
        "{}",
        context.bucket_name(bucket), micro_batch_size, format_bytes(memory.tensor_bytes()),
        format_bytes(memory.activation_bytes), context.gpu ? "a GPU" : "its share of this machine",
        format_bytes(std::max<std::int64_t>(0, limit_bytes)));
}

std::vector<double> step_shares(PlanContext const& context,
                                std::vector<std::int64_t> const& globals) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < globals.size(); ++i) {
        shares.push_back(context.clips[i] / static_cast<double>(globals[i]));
    }
    double const sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
    return shares;
}

RankBalance rank_balance(PlanContext const& context, std::vector<double> const& shares,
                         std::vector<StepTime> const& times) {
    std::vector<double> work_s;
    for (StepTime const& time : times) {
        work_s.push_back(time.compute_s + time.optimizer_s + time.loader_s);
    }
    bool const each_draws = context.config.debug.bucket_schedule == "original";
    return balance_of_draws(shares, work_s, each_draws ? context.dp_size() : 1);
}

LoaderSizes smallest_loader(PlanContext const& context, std::vector<std::int64_t> const& globals) {
    LoaderSizes sizes{.clip_pixels_max = context.clip_pixels_max, .num_workers = 0};
    for (std::size_t i = 0; i < globals.size(); ++i) {
        std::int64_t const samples = globals[i] / context.dp_size();
        std::int64_t const bytes = context.latents ? samples * latent_bytes(context, i)
                                                   : batch_bytes(context.peak_keys[i], samples);
        sizes.slot_bytes = std::max(sizes.slot_bytes, bytes);
    }
    return sizes;
}

std::optional<std::int64_t> rank_limit_bytes(PlanContext const& context,
                                             std::vector<std::int64_t> const& globals) {
    MemoryConstants const constants;
    std::optional<std::int64_t> limit;
    if (context.gpu) {
        limit = context.gpu_bytes - constants.gpu_context_bytes;
    } else if (context.host_bytes > 0) {
        // The shape of an autoencoder's samples does not describe its weights.
        std::int64_t checkpoint = 0, offloaded = 0;
        if (!trains_autoencoder(context.config)) {
            RankMemory const memory = micro_batch_memory(context, 0, 1, true);
            checkpoint = node_memory(memory, {}, context.ranks_per_node, false).checkpoint_bytes;
            offloaded = memory.offloaded_bytes;
        }
        LoaderSizes const sizes = smallest_loader(context, globals);
        bool const evaluates = !context.config.data.eval_manifest.empty() && !context.latents;
        std::int64_t const evaluation =
            evaluates ? evaluation_loader_bytes(sizes.slot_bytes, sizes.clip_pixels_max) : 0;
        std::int64_t const resident = (context.host_bytes - checkpoint) / context.ranks_per_node -
                                      loader_memory(sizes).total_bytes - evaluation - offloaded;
        limit = allocated_within(resident);
    }
    auto const& given = context.config.memory.rank_memory_gib;
    if (given.is_auto()) return limit;
    auto most = static_cast<std::int64_t>(*given.value * static_cast<double>(kGiB));
    if (context.gpu) most -= constants.gpu_context_bytes;
    return std::min(most, limit.value_or(most));
}

StepQuery step_query(PlanContext const& context, std::size_t bucket, int threads) {
    return {.shape = context.shape,
            .bucket = context.keys[bucket],
            .dp_size = context.dp_size(),
            .sp_size = context.sp_size,
            .sp_kind = context.sp_kind,
            .tp_size = context.tp_size,
            .pp_size = context.pp_size,
            .virtual_stages = context.virtual_stages,
            .eager = context.eager,
            .run_ends = context.run_ends,
            .ranks_per_node = context.ranks_per_node,
            .precision = context.precision,
            .reduce_dtype = context.reduce_dtype,
            .lora_rank = context.config.optim.lora_rank,
            .zero_stage = context.zero_stage,
            .shard_size = context.shard_size,
            .freeze = context.config.optim.freeze,
            .activations = context.activations,
            .network = context.network ? &*context.network : nullptr,
            .measured = context.measured ? &*context.measured : nullptr,
            .threads = threads,
            .cores = context.cores,
            .gpu = context.gpu,
            .fused_kernels = context.config.debug.kernels == "fused",
            .grad_bucket_mib = context.config.parallel.grad_bucket_mib.value_or(25),
            .overlap = context.config.parallel.overlap,
            .per_parameter = context.config.debug.collectives == "per_parameter"};
}

Result<BucketChoice> choose_micro_batch(PlanContext const& context, std::size_t bucket,
                                        StepQuery query, std::int64_t local_samples,
                                        std::optional<std::int64_t> limit_bytes) {
    OSORA_CHECK_LE(1, local_samples);
    auto const& given = context.config.bucket[bucket].micro_batch_size;
    std::vector<std::int64_t> sizes = divisors(local_samples);
    if (!given.is_auto()) {
        OSORA_CHECK_EQ(local_samples % *given.value, 0);
        sizes = {*given.value};
    }
    std::vector<BucketChoice> fitting;
    for (std::int64_t const micro : sizes) {
        BucketChoice choice{
            .micro_batch_size = static_cast<int>(micro),
            .grad_accum_steps = static_cast<int>(local_samples / micro),
            .time = {},
            .memory = micro_batch_memory(context, bucket, micro, micro < local_samples,
                                         query.grad_bucket_mib)};
        // One pass for all samples keeps no sums between passes: it may fit where smaller ones do
        // not.
        if (limit_bytes && choice.memory.tensor_bytes() > *limit_bytes) continue;
        if (!fits_host(context, choice.memory)) continue;
        query.micro_batch_size = choice.micro_batch_size;
        query.grad_accum_steps = choice.grad_accum_steps;
        choice.time = step_time(query, context.calibration);
        fitting.push_back(choice);
    }
    if (fitting.empty()) {
        RankMemory const least = micro_batch_memory(
            context, bucket, sizes.front(), sizes.front() < local_samples, query.grad_bucket_mib);
        bool const host =
            !fits_host(context, least) && (!limit_bytes || least.tensor_bytes() <= *limit_bytes);
        if (host) return Error{Errc::out_of_memory, host_too_small(context, bucket, least)};
        return Error{Errc::out_of_memory,
                     micro_batch_too_large(context, bucket, sizes.front(), least, *limit_bytes)};
    }
    auto const time = [](BucketChoice const& choice) { return choice.time.total_s(); };
    double const best = time(*std::ranges::min_element(fitting, {}, time));
    return *std::ranges::find_if(
        fitting, [&](BucketChoice const& choice) { return time(choice) <= kNearlyFastest * best; });
}

std::vector<int> thread_counts(PlanContext const& context) {
    int const given = context.config.resources.cpus_per_worker;
    if (given > 0) return {given};
    int const most = std::max(1, context.cores / context.ranks);
    if (context.gpu) return {most};
    std::vector<int> counts(static_cast<std::size_t>(most));
    std::iota(counts.rbegin(), counts.rend(), 1);  // most threads first: wins ties
    return counts;
}

Result<std::vector<Candidate>> search_layouts(PlanContext const& context,
                                              std::vector<std::int64_t> const& globals) {
    auto const shares = step_shares(context, globals);
    std::vector<Candidate> best_of_threads;
    for (int const threads : thread_counts(context)) {
        std::optional<Candidate> best;
        for (int const mib : grad_buckets(context)) {
            Candidate candidate{.threads = threads, .grad_bucket_mib = mib, .buckets = {}};
            auto chosen = choose_all(context, globals, candidate);
            if (chosen.has_error()) {
                // Larger buckets may not fit where the first ones do.
                if (best && chosen.error().code == Errc::out_of_memory) continue;
                return std::move(chosen).error();
            }
            candidate.buckets = std::move(*chosen);
            for (std::size_t i = 0; i < shares.size(); ++i) {
                candidate.step_time_s += shares[i] * candidate.buckets[i].time.total_s();
            }
            if (!best || candidate.step_time_s < best->step_time_s) best = std::move(candidate);
        }
        best_of_threads.push_back(std::move(*best));
    }
    std::ranges::stable_sort(best_of_threads, {}, &Candidate::step_time_s);
    return best_of_threads;
}

}  // namespace osora::plan
