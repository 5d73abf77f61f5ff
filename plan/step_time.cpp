// The terms of a step, each from calibrated constants.
#include "plan/step_time.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "base/units.hpp"
#include "plan/model_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace osora::plan {
namespace {

constexpr double kBackwardShare = 2.0 / 3.0;  // of a pass
/// What threads beyond the measured ones add: t threads are worth t^kThreadPower.
constexpr double kThreadPower = 0.85;
/// Work beside matrix products (norms, GELU, softmax, copies), as passes over the values that are
/// kept for backward. On a CPU such operators are bound by arithmetic: fitted to stdit3-tiny.
constexpr double kPassesCpu = 20, kPassesGpu = 6;
/// What an operator of a model costs where a bare at::add costs one: autograd, its allocations,
/// its views. Fitted to passes of stdit3-tiny over four tokens: 7.5 ms beside 0.75 us.
constexpr double kOperatorWeightCpu = 14, kOperatorWeightGpu = 2;
/// Share of a collective that backward can hide: Gloo's threads need cores, NCCL's kernels SMs.
constexpr double kOverlapSpare = 0.9, kOverlapNoSpare = 0.5;

struct SizeRate {
    int size;
    double gflops;
};

/// log-log between the rows of one thread count; flat outside them.
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

/// One all_reduce, and how much of that time it needs a processor for: all of it between the ranks
/// of a node; over a network what the same bytes would take on one.
struct ReduceTime {
    double seconds = 0, processor_share = 1;
};
ReduceTime reduce_time(StepQuery const& query, Calibration const& calibration, double bytes) {
    double const local = all_reduce_s(calibration.all_reduce, query.dp_size, bytes);
    if (query.network == nullptr) return {core_sharing(query) * local, 1};
    double const seconds = query.network->seconds(bytes);
    return {seconds, std::min(1.0, local / seconds)};
}

/// The formula of pass_time_s before it is scaled.
double formula_pass_s(StepQuery const& query, Calibration const& calibration) {
    SampleCost const sample = sample_cost(query.shape, query.bucket);
    double const samples = query.micro_batch_size;
    double const flops = training_factor(false) * sample.forward_flops * samples;
    double const rate = matmul_gflops(calibration, query.threads, query.shape.hidden) * 1e9;
    double const passes =
        query.gpu ? kPassesGpu : kPassesCpu / std::pow(query.threads, kThreadPower);
    double const traffic = passes * static_cast<double>(sample.saved_bytes) * samples;
    double const operators = (query.gpu ? kOperatorWeightGpu : kOperatorWeightCpu) *
                             static_cast<double>(operators_per_pass(query.shape));
    return flops / rate + traffic / (calibration.memory_bandwidth_gbps * 1e9) +
           operators * calibration.launch_floor_us * 1e-6;
}

std::optional<StepQuery> query_of(ModelStep const& measured) {
    auto shape = model_shape(measured.arch);
    if (!shape) return {};
    auto key = nominal_key({.resolution = measured.resolution, .num_frames = measured.num_frames},
                           shape->pixel_multiple());
    if (!key) return {};
    return StepQuery{.shape = std::move(*shape),
                     .bucket = *key,
                     .micro_batch_size = measured.micro_batch_size,
                     .threads = measured.threads};
}

/// Of weights and gradients.
int value_bytes(StepQuery const& query) {
    return query.precision == "fp32" ? 4 : 2;
}

double trained_numbers(StepQuery const& query) {
    return static_cast<double>(query.lora_rank > 0
                                   ? adapter_parameters(query.shape, query.lora_rank)
                                   : parameter_count(query.shape).parameters);
}

double optimizer_s(StepQuery const& query, Calibration const& calibration) {
    // Norm reads g; AdamW reads p, g, m, v and writes p, m, v; the average reads p, a, writes a;
    // with other ranks gradients are copied to buckets and back. Below fp32 g also becomes fp32,
    // and p is rounded into the network.
    int const size = value_bytes(query);
    bool const low = size < 4;
    int const passes_fp32 = 7 + 3 + (low ? 1 + 1 : 0);
    int const passes_low = 1 + (query.dp_size > 1 ? 4 : 0) + (low ? 1 + 1 : 0);
    double const bytes = (4 * passes_fp32 + size * passes_low) * trained_numbers(query);
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
        double const cores = std::max(1, query.cores / query.dp_size);
        return std::max({0.0, behind, decode / cores - rest});
    }
    // Decoding and computing share the node's cores: their core-seconds bound the step.
    double const busy = query.threads / core_sharing(query) * (time.compute_s + time.optimizer_s);
    double const all_cores = query.dp_size * (busy + decode) / query.cores;
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
    if (query.dp_size == 1) return 0;
    double const bytes = value_bytes(query) * trained_numbers(query);
    double const bucket_bytes = query.grad_bucket_mib * static_cast<double>(kMiB);
    double const tensors = static_cast<double>(parameter_count(query.shape).tensors);
    double const buckets =
        query.per_parameter ? tensors : std::max(1.0, std::ceil(bytes / bucket_bytes));
    auto const reduce = [&](double size) { return reduce_time(query, calibration, size); };
    ReduceTime const one = reduce(bytes / buckets);
    double const barriers = query.per_parameter ? 2 * reduce(0).seconds : 0;
    double const all = buckets * one.seconds + barriers;
    if (query.per_parameter || !query.overlap || buckets < 2) return all;
    bool const spare = query.gpu || query.cores > query.dp_size * query.threads;
    double const hidden_share =
        1 - one.processor_share * (1 - (spare ? kOverlapSpare : kOverlapNoSpare));
    double const window = backward_s * (buckets - 1) / buckets;
    // The last bucket is full only when backward ends.
    double const early = all - one.seconds;
    return all - std::min(hidden_share * early, window);
}

double core_sharing(StepQuery const& query) {
    if (query.gpu) return 1;
    return std::max(1.0, static_cast<double>(query.dp_size) * query.threads / query.cores);
}

double pass_time_scale(Calibration const& calibration, int threads) {
    std::vector<double> same, all;
    for (ModelStep const& measured : calibration.model_steps) {
        auto const query = query_of(measured);
        if (!query) continue;
        double const scale = measured.forward_backward_s / formula_pass_s(*query, calibration);
        all.push_back(scale);
        if (measured.threads == threads) same.push_back(scale);
    }
    if (!same.empty()) return median(std::move(same));
    return all.empty() ? 1 : median(std::move(all));
}

double pass_time_s(StepQuery const& query, Calibration const& calibration) {
    return formula_pass_s(query, calibration) * pass_time_scale(calibration, query.threads);
}

StepTime step_time(StepQuery const& query, Calibration const& calibration) {
    double const slower = core_sharing(query);
    double const pass_s = slower * pass_time_s(query, calibration);
    StepTime time;
    time.compute_s = query.grad_accum_steps * pass_s;
    time.optimizer_s = slower * optimizer_s(query, calibration);
    time.exposed_comm_s = exposed_comm_s(query, calibration, kBackwardShare * pass_s);
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
