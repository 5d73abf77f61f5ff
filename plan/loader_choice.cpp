// Tries loader sizes with the step-time model against the memory that is left.
#include "plan/loader_choice.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace osora::plan {
namespace {

constexpr int kWorkersMax = 8;
constexpr int kPrefetch = 2;
constexpr double kGoodEnough = 1.01;
/// Decoding in the trainer's thread does not overlap file reads: only for almost no decoding.
constexpr double kInlineShare = 0.01;

/// A rank's share of data.host_memory_gib.
std::int64_t given_bytes(PlanContext const& context) {
    auto const given = static_cast<std::int64_t>(context.config.data.host_memory_gib * kGiB);
    return given / context.ranks_per_node;
}

/// Memory for a rank's loader: the user's budget, and on the host what the ranks leave.
std::int64_t budget_bytes(PlanContext const& context, Candidate const& candidate) {
    std::int64_t budget = given_bytes(context);
    if (context.host_bytes == 0) return budget;
    RankMemory peak;
    for (BucketChoice const& bucket : candidate.buckets) {
        if (bucket.memory.total_bytes() > peak.total_bytes()) peak = bucket.memory;
    }
    NodeMemory const node = node_memory(peak, {}, context.ranks_per_node, context.gpu);
    std::int64_t const share =
        (context.host_bytes - node.checkpoint_bytes) / context.ranks_per_node;
    return std::min(budget, share - node.rank_bytes);
}

void predict(PlanContext const& context, std::vector<double> const& shares,
             Candidate const& candidate, LoaderChoice& choice) {
    choice.times.clear();
    choice.mean_step_s = 0;
    for (std::size_t i = 0; i < candidate.buckets.size(); ++i) {
        StepQuery query = step_query(context, i, candidate.threads);
        query.micro_batch_size = candidate.buckets[i].micro_batch_size;
        query.grad_accum_steps = candidate.buckets[i].grad_accum_steps;
        query.grad_bucket_mib = candidate.grad_bucket_mib;
        query.num_workers = choice.num_workers;
        query.decode_s_per_sample = context.decode_s[i];
        choice.times.push_back(step_time(query, context.calibration));
        choice.mean_step_s += shares[i] * choice.times.back().total_s();
    }
}

/// Seconds that one thread decodes for a step of one rank, mean over the steps.
double decode_s_per_step(PlanContext const& context, std::vector<double> const& shares,
                         Candidate const& candidate) {
    double decode = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        BucketChoice const& bucket = candidate.buckets[i];
        decode +=
            shares[i] * context.decode_s[i] * bucket.micro_batch_size * bucket.grad_accum_steps;
    }
    return decode;
}

std::vector<int> worker_counts(PlanContext const& context, Candidate const& candidate,
                               double decode_s) {
    auto const& given = context.config.data.num_workers;
    if (!given.is_auto()) return {*given.value};
    if (decode_s <= kInlineShare * candidate.step_time_s) return {0};
    std::vector<int> counts;
    for (int n = 1; n <= std::min(kWorkersMax, context.cores); ++n) counts.push_back(n);
    counts.push_back(0);  // the least memory: only if no thread fits
    return counts;
}

/// The loader with the most prefetch that fits, up to the wanted one; an error is that of the
/// smallest.
Result<LoaderMemory> fit(PlanContext const& context, LoaderSizes sizes, std::int64_t budget,
                         int& prefetch_factor) {
    auto const& given = context.config.data.prefetch_factor;
    int const most = given.value_or(kPrefetch);
    int const least = given.is_auto() ? 1 : most;
    Result<LoaderMemory> memory = LoaderMemory{};
    for (int prefetch = most; prefetch >= least; --prefetch) {
        sizes.prefetch_factor = prefetch;
        prefetch_factor = prefetch;
        memory = check_loader_memory(sizes, budget);
        if (memory) return memory;
    }
    return memory;
}

/// What a plan without the clips' sizes rests on; empty: it has them.
std::string assumed_text(PlanContext const& context) {
    if (context.clips_known || context.latents || context.config.data.manifest.empty()) return {};
    return "; sizes of clips are not known, 640 x 360 assumed: osora data index fills a list in";
}

std::string reason_of(PlanContext const& context, LoaderChoice const& choice, double decode_s) {
    if (!context.config.data.num_workers.is_auto()) {
        return fmt::format("loader: {} thread{} a rank: set by you", choice.num_workers,
                           choice.num_workers == 1 ? "" : "s");
    }
    if (context.latents) return "loader: a thread maps cached latents, next to no work";
    std::string const cost = fmt::format("decoding takes {} of a {} step", format_seconds(decode_s),
                                         format_seconds(choice.mean_step_s));
    if (choice.num_workers == 0) return "loader: in the trainer's thread: " + cost;
    return fmt::format("loader: {} thread{} a rank, {} ahead: {}", choice.num_workers,
                       choice.num_workers == 1 ? "" : "s", choice.prefetch_factor, cost);
}

}  // namespace

std::int64_t evaluation_bytes(PlanContext const& context,
                              std::vector<std::int64_t> const& micro_batch_sizes) {
    if (context.config.data.eval_manifest.empty() || context.latents) return 0;
    std::int64_t slot_bytes = 0;
    for (std::size_t i = 0; i < micro_batch_sizes.size(); ++i)
        slot_bytes = std::max(slot_bytes, batch_bytes(context.peak_keys[i], micro_batch_sizes[i]));
    return evaluation_loader_bytes(slot_bytes, context.clip_pixels_max);
}

std::string loader_limit_name(PlanContext const& context, std::int64_t budget,
                              std::int64_t evaluation) {
    if (evaluation > 0)
        return fmt::format("{}, {} a rank of it for data.eval_manifest",
                           loader_limit_name(context, budget, 0), format_bytes(evaluation));
    if (budget < given_bytes(context)) return "data";
    std::string const ranks =
        context.ranks_per_node == 1
            ? std::string()
            : fmt::format(" for the {} ranks of a node", context.ranks_per_node);
    return fmt::format("data.host_memory_gib = {:.4g}{}", context.config.data.host_memory_gib,
                       ranks);
}

Result<LoaderChoice> choose_loader(PlanContext const& context,
                                   std::vector<std::int64_t> const& globals,
                                   Candidate const& candidate) {
    auto const shares = step_shares(context, globals);
    std::vector<std::int64_t> passes;
    for (BucketChoice const& bucket : candidate.buckets) passes.push_back(bucket.micro_batch_size);
    std::int64_t const evaluation = evaluation_bytes(context, passes);
    std::int64_t const whole = budget_bytes(context, candidate);
    std::int64_t const budget = std::max<std::int64_t>(0, whole - evaluation);
    LoaderSizes sizes = smallest_loader(context, globals);
    std::vector<LoaderChoice> fitting;
    std::optional<Error> error;
    double const decode_s = decode_s_per_step(context, shares, candidate);
    for (int const workers : worker_counts(context, candidate, decode_s)) {
        LoaderChoice choice{.num_workers = workers, .memory = {}, .times = {}, .reason = {}};
        sizes.num_workers = workers;
        auto memory = fit(context, sizes, budget, choice.prefetch_factor);
        if (!memory) {
            if (!error) error = memory.error();
            continue;
        }
        choice.memory = *memory;
        predict(context, shares, candidate, choice);
        fitting.push_back(std::move(choice));
    }
    if (fitting.empty()) return std::move(*error).in(loader_limit_name(context, whole, evaluation));
    double const best =
        std::ranges::min_element(fitting, {}, &LoaderChoice::mean_step_s)->mean_step_s;
    LoaderChoice chosen = *std::ranges::find_if(fitting, [&](LoaderChoice const& choice) {
        return choice.mean_step_s <= kGoodEnough * best;
    });
    chosen.memory.total_bytes += evaluation;
    chosen.reason = reason_of(context, chosen, decode_s) + assumed_text(context);
    return chosen;
}

}  // namespace osora::plan
