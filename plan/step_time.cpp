// The terms of a step, each from calibrated constants.
#include "plan/step_time.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "plan/measured_pass.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/trained_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace osora::plan {

using topology::Collective;

namespace {

constexpr double kBackwardShare = 2.0 / 3.0;  // of a pass
/// Effect of more threads than were measured: t threads are worth t^kThreadPower.
constexpr double kThreadPower = 0.85;
/// Work beside matrix products (norms, GELU, softmax, copies), as passes over the values that are
/// kept for backward. On a CPU such operators are bound by arithmetic: fitted to stdit3-tiny.
constexpr double kPassesCpu = 20, kPassesGpu = 6;
/// Cost of a model's operator relative to a bare at::add: autograd, its allocations, its views.
/// Fitted to passes of stdit3-tiny over four tokens: 7.5 ms with 0.75 us.
constexpr double kOperatorWeightCpu = 14, kOperatorWeightGpu = 2;
/// Share of a collective that backward can hide: Gloo's threads need cores, NCCL's kernels SMs.
constexpr double kOverlapSpare = 0.9, kOverlapNoSpare = 0.5;

struct SizeRate {
    int size;
    double gflops;
};

/// Interpolates log-log between the rows of one thread count; constant outside them.
double rate_at(std::vector<SizeRate> rows, int size) {
    std::ranges::sort(rows, {}, &SizeRate::size);
    if (size <= rows.front().size) return rows.front().gflops;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (size > rows[i].size) continue;
        double const share = std::log(static_cast<double>(size) / rows[i - 1].size) /
                             std::log(static_cast<double>(rows[i].size) / rows[i - 1].size);
        return rows[i - 1].gflops * std::pow(rows[i].gflops / rows[i - 1].gflops, share);
    }
    return rows.back().gflops;
}

/// One all_reduce, and how much of that time needs a processor: all of it between the ranks of a
/// node; over a network, the time of the same bytes within one.
struct ReduceTime {
    double seconds = 0, processor_share = 1;
};
ReduceTime reduce_time(StepQuery const& query, Calibration const& calibration,
                       GroupPlace const& place, double bytes) {
    double const local = all_reduce_s(calibration.all_reduce, place.shape.ranks, bytes);
    if (query.network == nullptr || !place.crosses_nodes()) {
        return {core_sharing(query) * local, 1};
    }
    double const seconds = query.network->seconds(Collective::all_reduce, place, bytes);
    return {seconds, std::min(1.0, local / seconds)};
}

/// An all_gather whose result has `bytes`, or a reduce_scatter or all_to_all of `bytes` per rank:
/// half of an all_reduce within a node.
ReduceTime half_time(StepQuery const& query, Calibration const& calibration, Collective collective,
                     GroupPlace const& place, double bytes) {
    double const local = all_reduce_s(calibration.all_reduce, place.shape.ranks, bytes) / 2;
    if (query.network == nullptr || !place.crosses_nodes()) {
        return {core_sharing(query) * local, 1};
    }
    double const seconds = query.network->seconds(collective, place, bytes);
    return {seconds, std::min(1.0, local / seconds)};
}

/// Gradients of a bucket become sums on the ranks that need them, with ZeRO weights afterwards
/// become whole. Gloo ranks exchange their contributions and add them (worker/parallel).
ReduceTime sum_time(StepQuery const& query, Calibration const& calibration, GroupPlace const& place,
                    double bytes) {
    if (query.zero_stage == 0) return reduce_time(query, calibration, place, bytes);
    Collective const scatter = query.gpu ? Collective::reduce_scatter : Collective::all_to_all;
    ReduceTime sum = half_time(query, calibration, scatter, place, bytes);
    sum.seconds += half_time(query, calibration, Collective::all_gather, place, bytes).seconds;
    return sum;
}

/// In the calibration's terms: a GPU computes equally fast whatever threads its rank has.
int computing_threads(StepQuery const& query) {
    return query.gpu ? 1 : query.threads;
}

/// The formula of pass_time_s before scaling.
double formula_pass_s(StepQuery const& query, Calibration const& calibration) {
    SampleCost const sample = sample_cost(query.shape, query.bucket);
    double const samples =
        static_cast<double>(query.micro_batch_size) / (query.sp_size * query.tp_size);
    double const again = recomputed_share(query.shape, sample, query.activations.recompute);
    double const flops = (kTrainingFactor + again) * sample.forward_flops * samples;
    double const rate =
        matmul_gflops(calibration, computing_threads(query), query.shape.hidden) * 1e9;
    double const passes =
        query.gpu ? kPassesGpu : kPassesCpu / std::pow(query.threads, kThreadPower);
    // Backward is two of the three passes over the saved values of a forward pass.
    double const traffic =
        passes * (1 + again / 3) * static_cast<double>(sample.saved_bytes) * samples;
    double const operators = (query.gpu ? kOperatorWeightGpu : kOperatorWeightCpu) *
                             static_cast<double>(operators_per_pass(query.shape));
    return flops / rate + traffic / (calibration.memory_bandwidth_gbps * 1e9) +
           operators * calibration.launch_floor_us * 1e-6;
}

std::optional<StepQuery> query_of(ModelStep const& measured, bool gpu) {
    auto shape = model_shape(measured.arch);
    if (!shape) return {};
    auto key = nominal_key({.resolution = measured.resolution, .num_frames = measured.num_frames},
                           shape->pixel_multiple());
    if (!key) return {};
    return StepQuery{.shape = std::move(*shape),
                     .bucket = *key,
                     .micro_batch_size = measured.micro_batch_size,
                     .threads = measured.threads,
                     .gpu = gpu};
}

/// Of weights and gradients.
int value_bytes(StepQuery const& query) {
    return query.precision == "fp32" ? 4 : 2;
}

/// Bytes exchanged for a gradient and for a weight, on average.
double exchanged_bytes(StepQuery const& query) {
    auto const of = [](std::string const& type) { return type == "fp32" ? 4.0 : 2.0; };
    double const gradient =
        query.reduce_dtype.empty() ? value_bytes(query) : of(query.reduce_dtype);
    // An all_reduce sends its sums in the type of the gradients.
    return query.zero_stage == 0 ? gradient : (gradient + value_bytes(query)) / 2;
}

/// Of this rank.
double trained_numbers(StepQuery const& query) {
    auto const all =
        static_cast<double>(trained_parameters(query.shape, query.lora_rank, query.freeze));
    if (query.tp_size * query.pp_size == 1 || query.lora_rank > 0) return all;
    BlockParameters const blocks = parameters_of_blocks(query.shape, query.freeze);
    auto const in_blocks = static_cast<double>(blocks.trained);
    auto const shared = static_cast<double>(blocks.shared_trained);
    return all - in_blocks + (in_blocks - shared + shared / query.tp_size) / query.pp_size;
}

/// Gradients that the same ranks sum.
struct SummedPart {
    double numbers = 0;  // of this rank
    GroupPlace place;
};
/// As worker/parallel/sharding/layer_parallel cuts them: what every rank has, what the ranks of a
/// stage have, and slices of linear layers.
std::vector<SummedPart> summed_parts(StepQuery const& query) {
    auto const all =
        static_cast<double>(trained_parameters(query.shape, query.lora_rank, query.freeze));
    auto const group = [&](int size, int stride) {
        return group_place(size, stride, query.ranks_per_node);
    };
    int const ranks = query.ranks(), tp = query.tp_size, pp = query.pp_size;
    if (tp * pp == 1 || query.lora_rank > 0) return {{all, group(ranks, 1)}};
    BlockParameters const blocks = parameters_of_blocks(query.shape, query.freeze);
    auto const in_blocks = static_cast<double>(blocks.trained);
    double const sliced = tp > 1 ? static_cast<double>(blocks.shared_trained) : 0;
    double const of_stage = pp > 1 ? in_blocks - sliced : 0;
    return {{all - of_stage - sliced, group(ranks, 1)},
            {of_stage / pp, group(ranks / pp, 1)},
            {sliced / tp / pp, group(ranks / (tp * pp), tp)}};
}

/// Time that a pass waits for other ranks' tokens: attention exchanges q, k, v and its result,
/// backward exchanges them back, and the output is gathered once.
double token_exchange_s(StepQuery const& query, Calibration const& calibration) {
    if (query.sp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    bool const joint = shape.family == ModelFamily::mmdit;  // text and image attend together
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (joint ? shape.text_tokens : 0);
    double const samples = query.micro_batch_size;
    double const values = samples * tokens * shape.hidden / (query.sp_size * query.tp_size);
    int const trades = 4 * (joint ? shape.blocks() : shape.depth);
    GroupPlace const place = group_place(query.sp_size, query.tp_size, query.ranks_per_node);
    auto const time_s = [&](Collective collective, double bytes) {
        return half_time(query, calibration, collective, place, bytes).seconds;
    };
    double const output = samples * tokens * shape.patch_volume() * shape.out_channels();
    return trades * time_s(Collective::all_to_all, 2 * values * value_bytes(query)) +
           time_s(Collective::all_gather, output * value_bytes(query));
}

/// Time that a pass waits in shared linear layers: tokens are gathered before them, and the ranks'
/// results are summed after them; backward does the reverse.
double layer_exchange_s(StepQuery const& query, Calibration const& calibration) {
    if (query.tp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    bool const joint = shape.family == ModelFamily::mmdit;
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (joint ? shape.text_tokens : 0);
    double const bytes =
        query.micro_batch_size * tokens / query.sp_size * shape.hidden * value_bytes(query);
    // Self-attention, cross-attention, MLP; a double block of MMDiT has two separate streams.
    double const pairs = joint ? 2 * shape.depth + shape.single_depth
                               : (shape.family == ModelFamily::stdit2 ? 4 : 3) * shape.blocks();
    double const again =
        1 +
        recomputed_share(shape, sample_cost(shape, query.bucket), query.activations.recompute) / 2;
    GroupPlace const place = group_place(query.tp_size, 1, query.ranks_per_node);
    auto const time_s = [&](Collective collective) {
        return half_time(query, calibration, collective, place, bytes).seconds;
    };
    return again * 2 * pairs * (time_s(Collective::all_gather) + time_s(Collective::all_to_all));
}

/// A micro-batch's tokens to the next stage, and their gradient back. Within a node a message of S
/// bytes takes half of an all_reduce of S bytes between two ranks.
double stage_transfer_s(StepQuery const& query, Calibration const& calibration) {
    if (query.pp_size == 1) return 0;
    ModelShape const& shape = query.shape;
    double const tokens = static_cast<double>(sample_cost(shape, query.bucket).tokens()) +
                          (shape.family == ModelFamily::mmdit ? shape.text_tokens : 0);
    double const bytes = query.micro_batch_size * tokens / (query.sp_size * query.tp_size) *
                         shape.hidden * value_bytes(query);
    double const within = core_sharing(query) * all_reduce_s(calibration.all_reduce, 2, bytes);
    if (query.network == nullptr || !query.stages_cross_nodes()) return within;
    return std::max(within, query.network->messages_s(bytes, query.ranks_per_node));
}

double optimizer_s(StepQuery const& query, Calibration const& calibration) {
    // Norm reads g; AdamW reads p, g, m, v and writes p, m, v; the average reads p, a, writes a;
    // with other ranks gradients are copied to buckets and back. Below fp32 g also becomes fp32,
    // and p is rounded into the network.
    int const size = value_bytes(query);
    bool const low = size < 4;
    int const passes_fp32 = 7 + 3 + (low ? 1 + 1 : 0);
    int const passes_low = 1 + (query.ranks() > 1 ? 4 : 0) + (low ? 1 + 1 : 0);
    double const share = query.zero_stage > 0 ? query.ranks() : 1;
    double const bytes = (4 * passes_fp32 / share + size * passes_low) * trained_numbers(query);
    double const launches = 3 * static_cast<double>(parameter_count(query.shape).tensors);
    return bytes / (calibration.memory_bandwidth_gbps * 1e9) +
           launches * calibration.launch_floor_us * 1e-6;
}

double loader_wait_s(StepQuery const& query, StepTime const& time) {
    double const decode =
        query.decode_s_per_sample * query.micro_batch_size * query.grad_accum_steps;
    if (decode <= 0) return 0;
    double const rest = time.compute_s + time.optimizer_s + time.exposed_comm_s;
    if (query.num_workers == 0) return decode * core_sharing(query);
    double const behind = decode / query.num_workers - rest;
    if (query.gpu) {
        double const cores = std::max(1, query.cores / query.ranks());
        return std::max({0.0, behind, decode / cores - rest});
    }
    // Decoding and computing share the node's cores: their core-seconds limit the step.
    double const busy = query.threads / core_sharing(query) * (time.compute_s + time.optimizer_s);
    double const all_cores = query.ranks() * (busy + decode) / query.cores;
    return std::max({0.0, behind, all_cores - rest});
}

}  // namespace

double matmul_gflops(Calibration const& calibration, int threads, int size) {
    OSORA_CHECK(!calibration.matmul.empty());
    int nearest = calibration.matmul.front().threads;
    for (MatmulRate const& row : calibration.matmul) {
        if (std::abs(row.threads - threads) < std::abs(nearest - threads)) nearest = row.threads;
    }
    std::vector<SizeRate> rows;
    for (MatmulRate const& row : calibration.matmul) {
        if (row.threads == nearest) rows.push_back({row.size, row.gflops});
    }
    return rate_at(std::move(rows), size) *
           std::pow(static_cast<double>(threads) / nearest, kThreadPower);
}

double all_reduce_s(AllReduceFit const& fit, int ranks, double bytes) {
    if (ranks < 2) return 0;
    // A ring of n ranks: t = 2 (n - 1) (alpha + S / (n B)).
    double const hops = 2.0 * (fit.ranks - 1);
    double const alpha = fit.a_s / hops;
    double const per_byte = fit.b_s_per_byte * fit.ranks / hops;
    return 2.0 * (ranks - 1) * (alpha + bytes / ranks * per_byte);
}

double exposed_comm_s(StepQuery const& query, Calibration const& calibration, double backward_s) {
    if (query.ranks() == 1) return 0;
    double const bucket_bytes = query.grad_bucket_mib * static_cast<double>(kMiB);
    double const tensors = static_cast<double>(parameter_count(query.shape).tensors);
    double const numbers = trained_numbers(query);
    double all = 0, early = 0, on_processor = 0;
    bool overlaps = query.overlap && !query.per_parameter;
    for (SummedPart const& part : summed_parts(query)) {
        if (part.numbers <= 0 || part.place.shape.ranks < 2) continue;
        double const bytes = exchanged_bytes(query) * part.numbers;
        double const buckets = query.per_parameter ? std::max(1.0, tensors * part.numbers / numbers)
                                                   : std::max(1.0, std::ceil(bytes / bucket_bytes));
        ReduceTime const one = sum_time(query, calibration, part.place, bytes / buckets);
        double const barriers =
            query.per_parameter ? 2 * reduce_time(query, calibration, part.place, 0).seconds : 0;
        all += buckets * one.seconds + barriers;
        // The last bucket is full only when backward ends (the first is needed when forward
        // begins).
        early += (buckets - 1) * one.seconds;
        on_processor += buckets * one.seconds * one.processor_share;
    }
    if (all <= 0) return 0;
    if (!overlaps || early <= 0) {
        double const halves = query.zero_stage < 2    ? 2
                              : query.zero_stage == 2 ? query.grad_accum_steps + 1
                                                      : 3 * query.grad_accum_steps;
        return all / 2 * halves;
    }
    bool const spare = query.gpu || query.cores > query.ranks() * query.threads;
    double const hidden_share =
        1 - on_processor / all * (1 - (spare ? kOverlapSpare : kOverlapNoSpare));
    double const early_share = early / all;
    auto const exposed = [&](double half, double work_s) {
        return half - early_share * std::min(hidden_share * half, work_s);
    };
    if (query.zero_stage == 0) return exposed(all, backward_s);
    double const forward_s = backward_s / kBackwardShare * (1 - kBackwardShare);
    double const scatter = exposed(all / 2, backward_s), gather = exposed(all / 2, forward_s);
    int const passes = query.grad_accum_steps;
    if (query.zero_stage == 1) return scatter + gather;
    if (query.zero_stage == 2) return passes * scatter + gather;
    return passes * (exposed(all, backward_s) + gather);
}

double core_sharing(StepQuery const& query) {
    if (query.gpu) return 1;
    return std::max(1.0, static_cast<double>(query.ranks()) * query.threads / query.cores);
}

double pass_time_scale(Calibration const& calibration, int threads) {
    std::vector<double> same, all;
    for (ModelStep const& measured : calibration.model_steps) {
        auto const query = query_of(measured, calibration.device == "gpu");
        if (!query) continue;
        double const scale = measured.forward_backward_s / formula_pass_s(*query, calibration);
        all.push_back(scale);
        if (measured.threads == threads) same.push_back(scale);
    }
    if (!same.empty()) return median(std::move(same));
    return all.empty() ? 1 : median(std::move(all));
}

double pass_time_s(StepQuery const& query, Calibration const& calibration) {
    return formula_pass_s(query, calibration) *
           pass_time_scale(calibration, computing_threads(query));
}

StepTime step_time(StepQuery const& query, Calibration const& calibration) {
    double const slower = core_sharing(query);
    double const exchange_s =
        (token_exchange_s(query, calibration) + layer_exchange_s(query, calibration)) /
        query.pp_size;
    auto const factors =
        query.measured == nullptr ? PassCorrection::Factors() : query.measured->factors(query);
    double const pass_s = factors.pass * slower * pass_time_s(query, calibration) / query.pp_size;
    StepTime time;
    time.compute_s = query.grad_accum_steps * pass_s;
    // The first micro-batch passes through all stages before the last stage begins, and back.
    double const transfer_s = stage_transfer_s(query, calibration);
    // Its virtual stages are shorter, and micro-batches pass through them in groups of pp_size.
    int const micro_batches = query.grad_accum_steps;
    int const missing = query.virtual_stages == 1
                            ? 0
                            : (query.pp_size - micro_batches % query.pp_size) % query.pp_size;
    double const waits = (query.pp_size - 1.0) / query.virtual_stages + missing;
    // The first stage runs pp_size micro-batches ahead of their gradients, so that messages there
    // and back delay every pp_size-th.
    double const rounds =
        query.virtual_stages == 1
            ? std::max(1.0, std::ceil(static_cast<double>(micro_batches) / query.pp_size))
            : 1;
    time.bubble_s = waits * (pass_s + exchange_s) + rounds * (query.pp_size - 1) * transfer_s;
    time.optimizer_s = factors.optimizer * slower * optimizer_s(query, calibration);
    time.exposed_comm_s = exposed_comm_s(query, calibration, kBackwardShare * pass_s) +
                          query.grad_accum_steps * exchange_s;
    time.loader_s = loader_wait_s(query, time);
    return time;
}

double step_time_error(Calibration const& calibration, bool shares_cores, bool network_known) {
    double const base = !calibration.measured || !network_known ? 0.60
                        : calibration.model_steps.empty()       ? 0.30
                                                                : 0.15;
    return shares_cores ? base + 0.10 : base;
}

}  // namespace osora::plan
