// From a request to a decision: check, look up, choose batches, search layouts, size the loader,
// record the predictions and reasons.
#include "plan/planner.hpp"

#include "base/text/units.hpp"
#include "plan/autoencoder/autoencoder_plan.hpp"
#include "plan/earlier/stated_error.hpp"
#include "plan/layout/batch_curve.hpp"
#include "plan/layout/batch_sizes.hpp"
#include "plan/layout/cut_search.hpp"
#include "plan/layout/encode_layout.hpp"
#include "plan/layout/layout_search.hpp"
#include "plan/layout/score_layout.hpp"
#include "plan/loader_choice.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/model/trained_parameters.hpp"
#include "plan/nccl/nccl_env.hpp"
#include "plan/plan_context.hpp"
#include "plan/plan_reasons.hpp"
#include "plan/remedies.hpp"
#include "plan/validate.hpp"
#include "plan/worker_support.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

/// A rank that spins or sleeps for a given time stops on time.
constexpr double kOwnWorkError = 0.02;
/// Of the step time, to give up the simpler layout with one copy; the order of passes that keeps
/// fewer activations.
constexpr double kCopiesGain = 0.03, kEagerGain = 0.01;
/// Of the step time, to recompute in place of sharing more; exposed, to look for that.
constexpr double kRecomputeGain = 0.03, kMuchExposed = 0.10;

LayoutPlan layout_of(PlanContext const& context, GlobalBatches const& batches,
                     Candidate const& candidate, LoaderChoice const& loader) {
    LayoutPlan layout;
    layout.dp_size = context.dp_size();
    layout.tp_size = context.tp_size;
    layout.pp_size = context.pp_size;
    layout.sp_size = context.sp_size;
    if (context.sp_size > 1) layout.sp_kind = name_of(context.sp_kind);
    layout.virtual_stages = context.virtual_stages;
    if (context.pp_size > 1 && context.virtual_stages == 1)
        layout.pp_schedule = context.eager ? kEager1f1b : k1f1b;
    layout.run_ends = context.run_ends;
    layout.zero_stage = context.zero_stage;
    layout.shard_size = context.zero_stage > 0 ? context.shard_size : 0;
    layout.precision = context.precision;
    layout.reduce_dtype = context.reduce_dtype;
    layout.recompute = context.activations.recompute;
    layout.activation_store = context.activations.store;
    layout.offload_frozen = context.offload_frozen;
    layout.grad_bucket_mib = candidate.grad_bucket_mib;
    layout.num_workers = loader.num_workers;
    layout.prefetch_factor = loader.prefetch_factor;
    layout.threads_per_rank = candidate.threads;
    auto const& optim = context.config.optim;
    double const frozen_share = frozen_linear_share(context.shape, optim.lora_rank, optim.freeze);
    for (std::size_t i = 0; i < candidate.buckets.size(); ++i) {
        BucketChoice const& chosen = candidate.buckets[i];
        layout.buckets.push_back(
            {.resolution = context.config.bucket[i].resolution,
             .num_frames = context.config.bucket[i].num_frames,
             .height = context.keys[i].height,
             .width = context.keys[i].width,
             .micro_batch_size = chosen.micro_batch_size,
             .grad_accum_steps = chosen.grad_accum_steps,
             .global_batch_size = static_cast<int>(batches.sizes[i]),
             .gflop_per_sample =
                 training_flops(context.shape, context.costs[i], frozen_share) / 1e9,
             .tokens_per_sample = static_cast<double>(context.costs[i].tokens()),
             .step_time_s = loader.times[i].total_s(),
             .peak_memory_gib = gib(chosen.memory.tensor_bytes()),
             .compute_s = loader.times[i].compute_s,
             .optimizer_s = loader.times[i].optimizer_s});
    }
    return layout;
}

/// Compute times as given, plus the collectives of these ranks; nobody waits for data.
std::vector<StepTime> times_of_work(PlanContext const& context, Candidate const& candidate,
                                    std::vector<BucketCompute> const& compute_times) {
    std::vector<StepTime> times;
    for (std::size_t i = 0; i < candidate.buckets.size() && i < compute_times.size(); ++i) {
        StepQuery query = step_query(context, i, candidate.threads);
        query.micro_batch_size = candidate.buckets[i].micro_batch_size;
        query.grad_accum_steps = candidate.buckets[i].grad_accum_steps;
        query.grad_bucket_mib = candidate.grad_bucket_mib;
        times.push_back(step_time_of_work(query, context.calibration, compute_times[i].forward_s,
                                          compute_times[i].backward_s,
                                          compute_times[i].optimizer_s));
    }
    return times;
}

Prediction prediction_of(PlanContext const& context, GlobalBatches const& batches,
                         Candidate const& candidate, LoaderChoice const& loader,
                         bool compute_times = false) {
    auto const shares = step_shares(context, batches.sizes);
    Prediction expected;
    double samples = 0;
    RankMemory peak;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        StepTime const& time = loader.times[i];
        expected.step_time_s += shares[i] * time.total_s();
        expected.compute_s += shares[i] * (time.compute_s + time.optimizer_s);
        expected.exposed_comm_s += shares[i] * time.exposed_comm_s;
        expected.bubble_s += shares[i] * time.bubble_s;
        expected.loader_s += shares[i] * time.loader_s;
        samples += shares[i] * static_cast<double>(batches.sizes[i]);
        RankMemory const& memory = candidate.buckets[i].memory;
        if (memory.total_bytes() <= peak.total_bytes()) continue;
        peak = memory;
        expected.peak_bucket = context.bucket_name(i);
    }
    RankBalance const balance = rank_balance(context, shares, loader.times);
    expected.rank_wait_s = balance.longest_s - balance.mean_s;
    expected.rank_balance = balance.ratio();
    expected.step_time_s += expected.rank_wait_s;
    bool const shares_cores = core_sharing(step_query(context, 0, candidate.threads)) > 1;
    double const own_error =
        compute_times && context.network_known
            ? kOwnWorkError
            : step_time_error(context.calibration, shares_cores, context.network_known);
    double const comm_share = context.network ? expected.exposed_comm_s / expected.step_time_s : 0;
    double const network_error = context.network ? context.network->whole().error() : 0;
    expected.step_time_error = stated_error(
        (1 - comm_share) * own_error + comm_share * network_error, context.past_errors);
    expected.peak_memory_gib = gib(peak.tensor_bytes());
    expected.memory_limit_gib = gib(rank_limit_bytes(context, batches.sizes).value_or(0));
    expected.host_memory_gib =
        gib(node_memory(peak, loader.memory, context.ranks_per_node, context.gpu).total_bytes());
    expected.samples_per_s = samples / expected.step_time_s;
    return expected;
}

/// The other thread counts, best first, without those whose loader does not fit.
std::vector<Alternative> alternatives_of(PlanContext const& context, GlobalBatches const& batches,
                                         std::vector<Candidate> const& candidates) {
    std::vector<Alternative> others;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        auto const loader = choose_loader(context, batches.sizes, candidates[i]);
        if (!loader) continue;
        others.push_back({layout_of(context, batches, candidates[i], *loader),
                          prediction_of(context, batches, candidates[i], *loader)});
    }
    std::ranges::stable_sort(others, {},
                             [](Alternative const& other) { return other.predicted.step_time_s; });
    return others;
}

/// A program unknown to osora: only ranks and threads.
PlanDecision plan_of_exec(PlanRequest const& request) {
    PlanDecision decision;
    auto const& resources = request.config.resources;
    decision.chosen.dp_size = resources.nodes * resources.gpus_per_node;
    int const cores = request.cluster.nodes.empty() ? 1 : request.cluster.nodes.front().cores;
    decision.chosen.threads_per_rank = resources.cpus_per_worker > 0
                                           ? resources.cpus_per_worker
                                           : std::max(1, cores / resources.gpus_per_node);
    decision.reasons = {"user program: osora starts its ranks and predicts nothing"};
    return decision;
}

/// Layouts with the ZeRO stage of the run file, else with the lowest that fits, which is stored in
/// `context`. If nothing fits, the error is for that stage.
Result<std::vector<Candidate>> search_stages(PlanContext& context, GlobalBatches const& batches) {
    auto const& wanted = context.config.parallel.zero_stage;
    context.zero_stage = wanted.value_or(context.zero_stage);
    int const most = context.virtual_stages > 1 ? 1
                     : context.pp_size > 1      ? 2
                                                : WorkerSupport{}.zero_stage_max;
    int const last = wanted.is_auto() && context.ranks > 1 ? most : context.zero_stage;
    auto found = search_layouts(context, batches.sizes);
    while (found.has_error() && found.error().code == Errc::out_of_memory &&
           context.zero_stage < last) {
        ++context.zero_stage;
        found = search_layouts(context, batches.sizes);
    }
    return found;
}

/// "auto": a copy of what ZeRO divides on each node, if that fits and takes less time.
void try_copy_a_node(PlanContext& context, GlobalBatches const& batches,
                     std::vector<Candidate>& found) {
    if (context.least_memory) return;
    bool const whole = context.tp_size * context.pp_size == 1;
    bool const several = context.ranks_per_node > 1 && context.ranks > context.ranks_per_node;
    if (!context.config.parallel.shard_size.is_auto() || context.zero_stage == 0) return;
    if (!whole || !several || context.config.run.job != "train") return;
    context.shard_size = context.ranks_per_node;
    auto copies = search_layouts(context, batches.sizes);
    bool const faster =
        copies && copies->front().step_time_s < (1 - kCopiesGain) * found.front().step_time_s;
    if (faster) {
        found = std::move(*copies);
    } else {
        context.shard_size = 0;
    }
}

/// "auto": stages that are more passes ahead, if their activations fit and messages take time.
void try_eager(PlanContext& context, GlobalBatches const& batches, std::vector<Candidate>& found) {
    bool const open = context.config.parallel.pp_schedule.is_auto();
    if (!open || context.least_memory) return;
    if (context.pp_size == 1 || context.virtual_stages > 1) return;
    context.eager = true;
    auto eager = search_layouts(context, batches.sizes);
    context.eager =
        eager && eager->front().step_time_s < (1 - kEagerGain) * found.front().step_time_s;
    if (context.eager) found = std::move(*eager);
}

/// Offloading takes less time than recomputing blocks. A CPU rank's host memory is that of its
/// device: it gains nothing, unless the run file caps what the rank takes.
std::vector<bool> offload_choices(PlanContext const& context) {
    auto const& memory = context.config.memory;
    if (context.config.run.job != "train") return {false};
    bool const can =
        context.pp_size == 1 && has_frozen_blocks(context.shape, context.config.optim.lora_rank,
                                                  context.config.optim.freeze);
    if (!memory.offload_frozen.is_auto()) {
        if (*memory.offload_frozen.value && !can) return {};  // a cut that is tried
        return {*memory.offload_frozen.value};
    }
    bool const may_gain = context.gpu || !memory.rank_memory_gib.is_auto();
    if (!can || !may_gain) return {false};
    return {false, true};
}

/// A way to keep activations with the lowest ZeRO stage at which it fits.
struct Fit {
    ActivationChoice activations;
    bool offload_frozen = false;
    int zero_stage = 0;
    std::vector<Candidate> candidates;
    [[nodiscard]] double step_time_s() const { return candidates.front().step_time_s; }
};

bool waits_for_collectives(PlanContext const& context, GlobalBatches const& batches,
                           Candidate const& candidate) {
    auto const shares = step_shares(context, batches.sizes);
    double exposed_s = 0;
    for (std::size_t i = 0; i < shares.size(); ++i)
        exposed_s += shares[i] * candidate.buckets[i].time.exposed_comm_s;
    return exposed_s > kMuchExposed * candidate.step_time_s;
}

/// With these activations, which are stored in `context`; frozen blocks are offloaded if nothing
/// fits without.
Result<Fit> fit_of(PlanContext& context, GlobalBatches const& batches, int least_stage) {
    Result<std::vector<Candidate>> found = Error{Errc::out_of_memory, "nothing fits"};
    for (bool const offload : offload_choices(context)) {
        context.offload_frozen = offload;
        context.zero_stage = least_stage;
        found = search_stages(context, batches);
        if (found || found.error().code != Errc::out_of_memory) break;
    }
    if (!found) return found.error();
    return Fit{context.activations, context.offload_frozen, context.zero_stage, std::move(*found)};
}

/// With the first way to keep activations that fits at any stage: sharing mostly costs less time
/// than recomputing blocks. Where ranks wait long for what they share, also what recomputes more at
/// a lower stage is tried. The choice is stored in `context`.
Result<std::vector<Candidate>> search_what_fits(PlanContext& context,
                                                GlobalBatches const& batches) {
    int const least_stage = context.zero_stage;
    std::optional<Fit> best;
    std::optional<Error> error;
    context.recomputes_for_time = false;
    for (ActivationChoice const& choice : activation_choices(context.config.memory, context.gpu)) {
        if (context.pp_size > 1 && is_lossy(choice.store, context.precision)) continue;
        context.activations = choice;
        auto fit = fit_of(context, batches, least_stage);
        if (!fit) {
            if (fit.error().code != Errc::out_of_memory) return fit.error();
            error = fit.error();
            continue;
        }
        bool const is_better =
            !best || (fit->zero_stage < best->zero_stage &&
                      fit->step_time_s() < (1 - kRecomputeGain) * best->step_time_s());
        if (is_better) {
            context.recomputes_for_time = best.has_value();
            best = std::move(*fit);
        }
        if (best->zero_stage == least_stage) break;
        if (!waits_for_collectives(context, batches, best->candidates.front())) break;
    }
    if (!best) return error.value_or(Error{Errc::out_of_memory, "nothing fits"});
    context.activations = best->activations;
    context.offload_frozen = best->offload_frozen;
    context.zero_stage = best->zero_stage;
    auto found = std::move(best->candidates);
    try_copy_a_node(context, batches, found);
    try_eager(context, batches, found);
    return found;
}

/// With the cut sizes of the request.
Result<PlanDecision> plan_of_cut(PlanRequest const& request) {
    OSORA_TRY(PlanContext context, plan_context(request));
    GlobalBatches const batches = choose_global_batches(context);
    OSORA_TRY(auto const candidates, search_what_fits(context, batches));
    Candidate const& best = candidates.front();
    OSORA_TRY(LoaderChoice const loader, choose_loader(context, batches.sizes, best));
    PlanDecision decision;
    decision.chosen = layout_of(context, batches, best, loader);
    LoaderChoice timed = loader;
    bool const compute_times = request.compute_times.size() == best.buckets.size();
    if (compute_times) timed.times = times_of_work(context, best, request.compute_times);
    decision.rank_groups = rank_map(decision.chosen, context.ranks_per_node);
    decision.predicted = prediction_of(context, batches, best, timed, compute_times);
    ChosenParts const parts{context, batches, best, loader};
    decision.rejected = rejected_micro_batches(parts, decision.chosen);
    decision.reasons = plan_reasons(parts, decision.rejected);
    decision.alternatives = alternatives_of(context, batches, candidates);
    return decision;
}

Result<PlanDecision> plan_of_job(PlanRequest const& request) {
    std::string const& job = request.config.run.job;
    if (job == "exec" || job == "probe") return plan_of_exec(request);
    if (job == "encode") return plan_of_encode(request);
    if (job == "score") return plan_of_score(request);
    return trains_autoencoder(request.config) ? plan_autoencoder(request)
                                              : best_cut(request, plan_of_cut);
}

/// Not of every cut that is tried: it takes as long as planning one several times.
std::vector<ExpectedBatch> curve_of(PlanRequest request, LayoutPlan const& chosen) {
    if (!runs_network(request.config) || chosen.buckets.empty()) return {};
    request.config.parallel.tp_size.value = chosen.tp_size;
    request.config.parallel.sp_size.value = chosen.sp_size;
    request.config.parallel.pp_size.value = chosen.pp_size;
    request.global_batch_size = chosen.buckets.front().global_batch_size;
    auto context = plan_context(request);
    if (context.has_error()) return {};
    GlobalBatches const batches = choose_global_batches(*context);
    auto const candidates = search_what_fits(*context, batches);
    if (candidates.has_error()) return {};
    return batch_curve(*context, batches, candidates->front());
}

}  // namespace

Result<PlanDecision> make_plan(PlanRequest const& request) {
    auto const violations = config_violations(request.config, request.cluster);
    if (!violations.empty()) {
        auto const& first = violations.front();
        return Error{first.code, first.key + ": " + first.message};
    }
    std::string const& job = request.config.run.job;
    bool const trains_nothing = job == "exec" || job == "probe" || job == "score";
    if (!trains_nothing && request.config.bucket.empty()) {
        return Error{Errc::invalid_input, "bucket: the run file has none"};
    }
    auto planned = plan_of_job(request);
    if (planned.has_error() && planned.error().code == Errc::out_of_memory) {
        std::string const ways = what_would_fit(request, plan_of_job);
        return Error{Errc::out_of_memory,
                     planned.error().message + (ways.empty() ? "" : "; it would fit with " + ways)};
    }
    OSORA_TRY(PlanDecision decision, std::move(planned));
    decision.batch_curve = curve_of(request, decision.chosen);
    bool const gpu = !request.cluster.nodes.empty() && !request.cluster.nodes.front().gpus.empty();
    decision.nccl_env = nccl_settings(
        advice_inputs(request.config, request.origins, request.environment, request.nccl, gpu));
    return decision;
}

}  // namespace osora::plan
