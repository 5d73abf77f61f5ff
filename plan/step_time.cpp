// The terms of a step, each from calibrated constants.
#include "plan/step_time.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "plan/earlier/measured_pass.hpp"
#include "plan/layout/stage_cut.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/trained_parameters.hpp"
#include "plan/step_communication.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace osora::plan {

namespace {

/// Effect of more threads than were measured: t threads are worth t^kThreadPower.
constexpr double kThreadPower = 0.85;
/// Work beside matrix products (norms, GELU, softmax, copies), as passes over the values that are
/// kept for backward. On a CPU such operators are bound by arithmetic: fitted to stdit3-tiny.
constexpr double kPassesCpu = 20;
/// Cost of a model's operator relative to a bare at::add: autograd, its allocations, its views.
/// Fitted to passes of stdit3-tiny over four tokens: 7.5 ms with 0.75 us.
constexpr double kOperatorWeightCpu = 14;

/// Of a GPU, fitted to 13 passes and steps of STDiT3-XL/2 on an H200, 256 to 54,000 tokens a sample
/// (docs/rfc/034): shares of the calibrated matrix rate, of products and of attention with all
/// scores counted; passes over the values kept for backward, with osora's kernels and without; the
/// cost of an operator; launches overlap with the GPU's work: p of (gpu^p + launch^p)^(1/p).
constexpr double kProductShare = 0.8, kAttentionShare = 0.89;
constexpr double kPassesFused = 9.2, kPassesPlain = 16.9;
constexpr double kOperatorWeightGpu = 3.2, kLaunchSharpness = 4;
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

/// In the calibration's terms: a GPU computes equally fast whatever threads its rank has.
int computing_threads(StepQuery const& query) {
    return query.gpu ? 1 : query.threads;
}

/// Time to launch the operators of a pass without recomputation.
double launches_s(ModelShape const& shape, double launch_floor_us) {
    return kOperatorWeightGpu * static_cast<double>(operators_per_pass(shape)) * launch_floor_us *
           1e-6;
}

/// Of a processor that was busy when it was measured, a pass that took less time shows the error.
double launch_floor_us(Calibration const& calibration) {
    double floor = calibration.launch_floor_us;
    for (ModelStep const& measured : calibration.model_steps) {
        auto const query = measured_query(measured, true);
        if (query)
            floor = std::min(floor, measured.forward_backward_s / launches_s(query->shape, 1));
    }
    return floor;
}

/// Forward and backward of linear layers, in forward passes: as in training_flops().
double linear_passes(StepQuery const& query) {
    return kTrainingFactor - frozen_linear_share(query.shape, query.lora_rank, query.freeze);
}

double gpu_pass_s(StepQuery const& query, Calibration const& calibration) {
    int const bytes = value_bytes(query);
    bool const fused = query.fused_kernels && kernels_fit(query.shape, bytes);
    SampleCost const sample =
        sample_cost(query.shape, query.bucket, {.bytes_per_value = bytes, .fused = fused});
    double const samples =
        static_cast<double>(query.micro_batch_size) / (query.sp_size * query.tp_size);
    double const again = recomputed_share(query.shape, sample, query.activations.recompute);
    double const rate = matmul_gflops(calibration, 1, query.shape.hidden) * 1e9;
    double const attention = attention_flops(query.shape, sample);
    double const linear_s = (sample.forward_flops - attention) / (kProductShare * rate);
    double const adapter_s =
        adapter_flops(query.shape, sample, query.lora_rank) / (kProductShare * rate);
    double const attention_s = head_padding(query.shape) * attention / (kAttentionShare * rate);
    double const traffic_s = (fused ? kPassesFused : kPassesPlain) *
                             static_cast<double>(sample.saved_bytes) /
                             (calibration.memory_bandwidth_gbps * 1e9);
    // Backward is two of the three passes over what a forward pass reads and computes.
    double const products_s = (linear_passes(query) + again) * linear_s +
                              (kTrainingFactor + again) * (attention_s + adapter_s);
    double const gpu_s = samples * (products_s + (1 + again / 3) * traffic_s);
    double const launch_s = (1 + again / 3) * launches_s(query.shape, launch_floor_us(calibration));
    double const p = kLaunchSharpness;
    return std::pow(std::pow(gpu_s, p) + std::pow(launch_s, p), 1 / p);
}

/// The formula of pass_time_s before scaling.
double formula_pass_s(StepQuery const& query, Calibration const& calibration) {
    if (query.gpu) return gpu_pass_s(query, calibration);
    SampleCost const sample = sample_cost(query.shape, query.bucket);
    double const samples =
        static_cast<double>(query.micro_batch_size) / (query.sp_size * query.tp_size);
    double const again = recomputed_share(query.shape, sample, query.activations.recompute);
    double const frozen = frozen_linear_share(query.shape, query.lora_rank, query.freeze);
    double const adapters = adapter_flops(query.shape, sample, query.lora_rank);
    double const flops = (training_flops(query.shape, sample, frozen) +
                          again * sample.forward_flops + (kTrainingFactor + again) * adapters) *
                         samples;
    double const rate = matmul_gflops(calibration, query.threads, query.shape.hidden) * 1e9;
    double const passes = kPassesCpu / std::pow(query.threads, kThreadPower);
    // Backward is two of the three passes over the saved values of a forward pass.
    double const traffic =
        passes * (1 + again / 3) * static_cast<double>(sample.saved_bytes) * samples;
    double const operators =
        kOperatorWeightCpu * static_cast<double>(operators_per_pass(query.shape));
    return flops / rate + traffic / (calibration.memory_bandwidth_gbps * 1e9) +
           operators * calibration.launch_floor_us * 1e-6;
}

/// The share of a pass that the stage with the most work has: the others wait for it.
double largest_share(StepQuery const& query) {
    if (query.pp_size == 1) return 1;
    FrozenWeights const frozen{query.lora_rank, query.freeze};
    ModelWork const work = model_work(query.shape, {&query.bucket, 1}, frozen);
    auto const ends = ends_or(query.run_ends, query.shape, query.bucket,
                              query.pp_size * query.virtual_stages, frozen);
    return std::ranges::max(stage_shares(work, ends, query.pp_size));
}

double optimizer_s(StepQuery const& query, Calibration const& calibration) {
    // Norm reads g; AdamW reads p, g, m, v and writes p, m, v; the average reads p, a, writes a;
    // with other ranks gradients are copied to buckets and back. Below fp32 g also becomes fp32,
    // and p is rounded into the network.
    int const size = value_bytes(query);
    bool const low = size < 4;
    int const passes_fp32 = 7 + 3 + (low ? 1 + 1 : 0);
    int const passes_low = 1 + (query.ranks() > 1 ? 4 : 0) + (low ? 1 + 1 : 0);
    // Of what a stage trains, only its ranks have parts.
    double const share =
        query.zero_stage > 0 ? static_cast<double>(query.shards()) / query.pp_size : 1;
    double const bytes = (4 * passes_fp32 / share + size * passes_low) * trained_numbers(query);
    double const launches = 3 * static_cast<double>(parameter_count(query.shape).tensors);
    return bytes / (calibration.memory_bandwidth_gbps * 1e9) +
           launches * calibration.launch_floor_us * 1e-6;
}

/// What the first stage waits for messages, in a step of passes of `pass_s`; `transfer_s`: of one
/// message there and back. The first micro-batch passes through all stages before the last stage
/// begins, and back. Later ones wait again as often as the stages are not far enough ahead;
/// interleaved ones are. tests/unit/worker/train/pass_order_test has a simulation of it.
double messages_s(StepQuery const& query, double transfer_s, double pass_s) {
    int const behind = query.pp_size - 1;
    double const first_s = behind * transfer_s;
    if (query.virtual_stages > 1) return first_s;
    int const in_flight = (query.eager ? 2 : 1) * behind + 1;
    int const again = (std::max(1, query.grad_accum_steps) - 1) * behind / in_flight;
    return first_s + again * std::max(0.0, transfer_s - (query.eager ? pass_s : 0));
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

double core_sharing(StepQuery const& query) {
    if (query.gpu) return 1;
    return std::max(1.0, static_cast<double>(query.ranks()) * query.threads / query.cores);
}

Result<StepQuery> measured_query(ModelStep const& measured, bool gpu) {
    OSORA_TRY(auto shape, model_shape(measured.arch));
    if (measured.depth > 0) shape.depth = measured.depth;
    OSORA_TRY(auto const key,
              nominal_key({.resolution = measured.resolution, .num_frames = measured.num_frames},
                          shape.pixel_multiple()));
    return StepQuery{.shape = std::move(shape),
                     .bucket = key,
                     .micro_batch_size = measured.micro_batch_size,
                     .precision = gpu ? "bf16" : "fp32",
                     .threads = measured.threads,
                     .gpu = gpu};
}

double pass_time_scale(Calibration const& calibration, int threads) {
    std::vector<double> same, all;
    for (ModelStep const& measured : calibration.model_steps) {
        auto const query = measured_query(measured, calibration.device == "gpu");
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

StepTime step_time_of_work(StepQuery const& query, Calibration const& calibration, double forward_s,
                           double backward_s, double optimizer_s) {
    double const exchange_s =
        (token_exchange_s(query, calibration) + layer_exchange_s(query, calibration)) /
        query.pp_size;
    int const micro_batches = std::max(1, query.grad_accum_steps);
    double const pass_s = (forward_s + backward_s) / micro_batches;
    StepTime time{.compute_s = forward_s + backward_s, .optimizer_s = optimizer_s};
    // Its virtual stages are shorter, and micro-batches pass through them in groups of pp_size.
    int const missing = query.virtual_stages == 1
                            ? 0
                            : (query.pp_size - micro_batches % query.pp_size) % query.pp_size;
    double const waits = (query.pp_size - 1.0) / query.virtual_stages + missing;
    time.bubble_s = waits * (pass_s + exchange_s) +
                    messages_s(query, stage_transfer_s(query, calibration), pass_s + exchange_s);
    time.exposed_comm_s =
        exposed_comm_s(query, calibration, backward_s / micro_batches) + micro_batches * exchange_s;
    return time;
}

StepTime step_time(StepQuery const& query, Calibration const& calibration) {
    double const slower = core_sharing(query);
    auto const factors =
        query.measured == nullptr ? PassCorrection::Factors() : query.measured->factors(query);
    double const pass_s =
        factors.pass * slower * pass_time_s(query, calibration) * largest_share(query);
    double const compute_s = query.grad_accum_steps * pass_s;
    StepTime time = step_time_of_work(query, calibration, (1 - kBackwardShare) * compute_s,
                                      kBackwardShare * compute_s,
                                      factors.optimizer * slower * optimizer_s(query, calibration));
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
