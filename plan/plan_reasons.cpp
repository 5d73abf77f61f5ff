// One function per kind of reason.
#include "plan/plan_reasons.hpp"

#include "base/text/text.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

std::string zero_reason(PlanContext const& context) {
    bool const given = !context.config.parallel.zero_stage.is_auto();
    if (context.shard_size > 0 && context.zero_stage > 0) {
        int const copies = context.ranks / context.shard_size;
        bool const by_user = !context.config.parallel.shard_size.is_auto();
        return fmt::format(
            "ZeRO-{}{}, {} copies over {} ranks each: {}", context.zero_stage,
            given ? ", set by you" : "", copies, context.shard_size,
            by_user ? "set by you" : "each node has one, which keeps gathers within it");
    }
    if (given) return fmt::format("ZeRO-{}: set by you", context.zero_stage);
    if (context.zero_stage == 0) {
        bool const unused = !context.config.parallel.shard_size.is_auto();
        return fmt::format("ZeRO-0: the optimizer's state fits each rank{}",
                           unused ? "; parallel.shard_size divides nothing" : "");
    }
    return fmt::format("ZeRO-{}: a rank's memory is too small for less", context.zero_stage);
}

/// Empty if no ranks share tokens.
std::string sp_reason(PlanContext const& context) {
    if (context.sp_size == 1) return "";
    bool const given = !context.config.parallel.sp_kind.is_auto();
    int const together = context.tp_size * context.sp_size;
    bool const divides = context.shape.heads % together == 0;
    std::string const sizes = context.tp_size > 1 ? fmt::format("tp_size x sp_size {}", together)
                                                  : fmt::format("sp_size {}", together);
    std::string const heads = fmt::format(
        "{} {} {} heads", sizes, divides ? "divides" : "does not divide", context.shape.heads);
    if (context.sp_kind == SpKind::ulysses)
        return fmt::format("sp_kind ulysses (tokens for heads): {}", given ? "set by you" : heads);
    return fmt::format("sp_kind ring (keys and values pass {} ranks): {}", context.sp_size,
                       given ? "set by you" : heads);
}

/// Empty without a pipeline, or with virtual stages, which have one order.
std::string schedule_reason(PlanContext const& context) {
    if (context.pp_size == 1 || context.virtual_stages > 1) return "";
    bool const given = !context.config.parallel.pp_schedule.is_auto();
    if (context.eager) {
        return fmt::format("pp_schedule eager_1f1b (up to {} micro-batches in flight): {}",
                           2 * context.pp_size - 1,
                           given ? "set by you" : "hides messages between stages, and fits");
    }
    if (given) return "pp_schedule 1f1b: set by you";
    return context.least_memory
               ? "pp_schedule 1f1b: one order for all stages of the run"
               : "pp_schedule 1f1b: eager_1f1b would save under 1 %, or does not fit";
}

std::string cores_reason(ChosenParts const& parts) {
    PlanContext const& context = parts.context;
    int const threads = parts.best.threads;
    std::string const ranks =
        fmt::format("{} x {} on {}", counted(context.ranks, "rank"), counted(threads, "thread"),
                    counted(context.cores, "core"));
    double const slower = core_sharing(step_query(context, 0, threads));
    if (slower > 1) {
        return fmt::format("{}: ranks share cores, computing takes {:.1f} times as long", ranks,
                           slower);
    }
    if (context.config.resources.cpus_per_worker > 0) return ranks + ": set by you";
    return ranks;
}

/// Empty if activations are simply kept.
std::string activation_reason(PlanContext const& context) {
    ActivationChoice const& chosen = context.activations;
    if (chosen.recompute == "none" && chosen.store == "none") return "";
    auto const& memory = context.config.memory;
    bool const yours = (chosen.recompute == "none" || !memory.recompute.is_auto()) &&
                       (chosen.store == "none" || !memory.activation_store.is_auto());
    return fmt::format("recompute {}, activation store {}: {}", chosen.recompute, chosen.store,
                       yours                         ? "set by you"
                       : context.recomputes_for_time ? "less would need a higher ZeRO stage, "
                                                       "whose collectives take longer"
                                                     : "without, not one sample fits a rank");
}

/// Empty unless some bucket's passes add up in more than the type of the weights.
std::string sums_reason(ChosenParts const& parts) {
    PlanContext const& context = parts.context;
    if (!sums_take_more(context.precision, context.zero_stage, context.ranks)) return "";
    std::int64_t most = 0;
    for (BucketChoice const& each : parts.best.buckets)
        if (each.grad_accum_steps > 1) most = std::max(most, each.memory.gradient_bytes);
    if (most == 0) return "";
    return fmt::format("gradients of a step's passes add up in fp32: {} a rank",
                       format_bytes(most));
}

/// Empty if no frozen block is offloaded.
std::string offload_reason(ChosenParts const& parts) {
    PlanContext const& context = parts.context;
    if (!context.offload_frozen) return "";
    std::int64_t const offloaded = parts.best.buckets.front().memory.offloaded_bytes;
    return fmt::format(
        "frozen weights of blocks ({} a rank) are in host memory, two blocks' at a time on the "
        "device: {}",
        format_bytes(offloaded),
        context.config.memory.offload_frozen.is_auto() ? "without, not one sample fits a rank"
                                                       : "set by you");
}

/// Empty if no activations wait in host memory.
std::string host_store_reason(ChosenParts const& parts) {
    std::int64_t most = 0;
    for (BucketChoice const& each : parts.best.buckets)
        most = std::max(most, each.memory.stored_on_host_bytes);
    if (most == 0) return "";
    return fmt::format(
        "activation store offload: up to {} a rank wait in host memory, {} a node; the time to "
        "move them is not predicted",
        format_bytes(most), format_bytes(most * parts.context.ranks_per_node));
}

std::string precision_reason(PlanContext const& context) {
    if (context.gpu) return "";
    std::string const& wanted = context.config.optim.precision;
    if (context.precision != wanted) {
        return fmt::format("precision {}: {} is the default on GPUs only", context.precision,
                           wanted);
    }
    if (wanted == "fp32") return "";
    return fmt::format("precision {}: set by you; many CPUs are far slower in it than in fp32",
                       wanted);
}

std::string reduce_reason(PlanContext const& context) {
    int const ranks = context.ranks / context.pp_size;  // that have the same weights
    if (ranks == 1) return "";
    // Gloo ranks exchange their parts and add them; NCCL, like any all_reduce, adds on the way.
    bool const in_fp32 = context.zero_stage > 0 && !context.gpu;
    if (context.reduce_dtype != context.precision)
        return fmt::format("gradients travel as {}: set by you; {} ranks add {}",
                           context.reduce_dtype, ranks, in_fp32 ? "in fp32" : "in that type");
    if (context.precision == "fp32" || in_fp32) return "";
    return fmt::format(
        "gradients travel as {}, as the weights, and {} ranks add them in that type; "
        "parallel.reduce_dtype = \"fp32\" rounds none, for twice the bytes",
        context.reduce_dtype, ranks);
}

std::string cost_reason(ChosenParts const& parts) {
    auto const& globals = parts.batches.sizes;
    auto const& costs = parts.context.costs;
    double const first = static_cast<double>(globals[0]) * costs[0].forward_flops;
    double worst = 0;
    std::string sizes;
    for (std::size_t i = 0; i < globals.size(); ++i) {
        double const step = static_cast<double>(globals[i]) * costs[i].forward_flops;
        worst = std::max(worst, std::abs(step / first - 1));
        sizes += fmt::format("{}{}", i == 0 ? "" : ", ", format_count(globals[i]));
    }
    return fmt::format("equal cost: {} samples a step, within {:.0f} % of the first bucket", sizes,
                       100 * worst);
}

/// Empty if no ranks train side by side, or there is one bucket.
std::string balance_reason(ChosenParts const& parts) {
    PlanContext const& context = parts.context;
    if (context.dp_size() == 1 || context.keys.size() == 1) return "";
    auto const shares = step_shares(context, parts.batches.sizes);
    bool const own = context.config.debug.bucket_schedule == "original";
    PlanContext drawing = context;
    drawing.config.debug.bucket_schedule = "original";
    RankBalance const drawn = rank_balance(drawing, shares, parts.loader.times);
    if (own) {
        return fmt::format(
            "bucket_schedule original: each of {} dp ranks draws a bucket in every step and waits "
            "for the slowest, which works {:.2f} times as long as the mean",
            context.dp_size(), drawn.ratio());
    }
    return fmt::format(
        "balance: {} dp ranks train one bucket in a step and take equally long; if each drew its "
        "own "
        "bucket, the slowest would work {:.2f} times as long as the mean",
        context.dp_size(), drawn.ratio());
}

void add_micro_reasons(ChosenParts const& parts, std::vector<Rejection> const& rejected,
                       std::vector<std::string>& reasons) {
    PlanContext const& context = parts.context;
    bool chosen = false;
    for (std::size_t i = 0; i < parts.best.buckets.size(); ++i) {
        bool const given = !context.config.bucket[i].micro_batch_size.is_auto();
        if (given) {
            reasons.push_back(fmt::format("{}: micro-batch {}: set by you", context.bucket_name(i),
                                          parts.best.buckets[i].micro_batch_size));
        } else if (parts.best.buckets[i].grad_accum_steps > 1) {
            chosen = true;
        }
        if (context.clips[i] <= 0) {
            reasons.push_back(
                fmt::format("{}: no clip fits, it is never trained", context.bucket_name(i)));
        }
    }
    std::size_t const before = reasons.size();
    for (Rejection const& each : rejected) {
        if (!each.layout.buckets.empty()) reasons.push_back(each.reason);
    }
    if (chosen && reasons.size() == before) {
        reasons.push_back("micro-batches: larger ones would save under 2 %");
    }
}

std::string calibration_reason(PlanContext const& context) {
    Calibration const& calibration = context.calibration;
    if (!calibration.measured && context.gpu_found) {
        return fmt::format(
            "expected times are from the data sheet of {}, not measured: run osora plan calibrate",
            context.nominal_gpu);
    }
    if (!calibration.measured && !context.nominal_gpu.empty()) {
        return fmt::format(
            "compute, device memory and links in a node are nominal, of the data sheet of {} as "
            "osora plan evaluate counts: nothing of it was measured here",
            context.nominal_gpu);
    }
    if (!calibration.measured) {
        return "expected times are nominal, not measured: run osora plan calibrate";
    }
    bool const slower = context.gpu && context.precision == "fp32";
    return fmt::format("rates measured on {} on {}{}", calibration.machine,
                       calibration.date.substr(0, 10),
                       slower ? ", in bf16: fp32 takes longer than expected here" : "");
}

std::string correction_reason(ChosenParts const& parts) {
    StepQuery query = step_query(parts.context, 0, parts.best.threads);
    query.micro_batch_size = parts.best.buckets.front().micro_batch_size;
    PassCorrection const& measured = *parts.context.measured;
    return fmt::format("passes are predicted {:.2f} times as long as by these rates, as in run {}",
                       measured.factors(query).pass, measured.nearest_run(query));
}

}  // namespace

std::vector<std::string> plan_reasons(ChosenParts const& parts,
                                      std::vector<Rejection> const& rejected) {
    PlanContext const& context = parts.context;
    std::vector<std::string> reasons{parts.batches.reason};
    if (context.keys.size() > 1) reasons.push_back(cost_reason(parts));
    if (auto reason = balance_reason(parts); !reason.empty()) reasons.push_back(std::move(reason));
    add_micro_reasons(parts, rejected, reasons);
    if (!context.gpu) reasons.push_back(cores_reason(parts));
    reasons.push_back(parts.loader.reason);
    if (context.ranks > 1) {
        reasons.push_back(zero_reason(context));
        bool const given = !context.config.parallel.grad_bucket_mib.is_auto();
        reasons.push_back(fmt::format("gradients travel in buckets of {} MiB: {}",
                                      parts.best.grad_bucket_mib,
                                      given ? "set by you" : "least exposed communication"));
    }
    for (auto const& reason_of :
         {sp_reason, schedule_reason, precision_reason, activation_reason, reduce_reason}) {
        if (auto reason = reason_of(context); !reason.empty()) reasons.push_back(std::move(reason));
    }
    for (auto const& reason_of : {sums_reason, offload_reason, host_store_reason}) {
        if (auto reason = reason_of(parts); !reason.empty()) reasons.push_back(std::move(reason));
    }
    if (context.network && context.network_source.empty()) {
        reasons.push_back(
            fmt::format("all_reduce between nodes is nominal, over cards of {}: run osora probe "
                        "--collectives to measure it",
                        context.network->whole().method()));
    } else if (context.network) {
        reasons.push_back(fmt::format("all_reduce as measured on {}: {}", context.network_source,
                                      context.network->whole().method()));
    } else if (!context.network_known) {
        reasons.push_back(
            context.nominal_gpu.empty() || context.gpu_found
                ? "the network is not measured, all_reduce counts as on one node: run osora probe "
                  "--collectives"
                : "the network is not known, all_reduce counts as on one node, so communication is "
                  "predicted too short: --nic-gbit gives the speed of a GPU's card");
    }
    if (!context.gpu_memory_known) {
        reasons.push_back(
            fmt::format("a GPU's memory is not known, {:g} GiB are assumed: "
                        "memory.gpu_memory_gib says it",
                        context.config.memory.gpu_memory_gib));
    }
    reasons.push_back(calibration_reason(context));
    if (context.measured) reasons.push_back(correction_reason(parts));
    if (!context.past_errors.empty()) {
        reasons.push_back(fmt::format(
            "the stated error is that of {} on this kind of machine",
            counted(static_cast<std::int64_t>(context.past_errors.size()), "earlier run")));
    }
    return reasons;
}

std::vector<Rejection> rejected_micro_batches(ChosenParts const& parts, LayoutPlan const& chosen) {
    PlanContext const& context = parts.context;
    std::vector<Rejection> rejected;
    auto const limit = rank_limit_bytes(context, parts.batches.sizes);
    for (std::size_t i = 0; limit && i < chosen.buckets.size(); ++i) {
        BucketPlan const& bucket = chosen.buckets[i];
        std::int64_t const local = bucket.global_batch_size / context.dp_size();
        for (std::int64_t micro = bucket.micro_batch_size + 1; micro <= local; ++micro) {
            if (local % micro != 0) continue;
            RankMemory const memory =
                micro_batch_memory(context, i, micro, micro < local, chosen.grad_bucket_mib);
            if (memory.tensor_bytes() <= *limit) continue;
            LayoutPlan layout = chosen;
            layout.buckets = {bucket};
            layout.buckets[0].micro_batch_size = static_cast<int>(micro);
            layout.buckets[0].grad_accum_steps = static_cast<int>(local / micro);
            layout.buckets[0].peak_memory_gib =
                static_cast<double>(memory.tensor_bytes()) / static_cast<double>(kGiB);
            rejected.push_back(
                {std::move(layout), micro_batch_too_large(context, i, micro, memory, *limit)});
            break;
        }
    }
    return rejected;
}

}  // namespace osora::plan
