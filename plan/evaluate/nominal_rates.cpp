// Computes with the equations of plan/evaluate what osora-worker --calibrate would have measured.
#include "plan/evaluate/nominal_rates.hpp"

#include "base/text/units.hpp"
#include "plan/evaluate/collective_cost.hpp"
#include "plan/evaluate/evaluate.hpp"
#include "plan/evaluate/work_time.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/step_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

/// Rows of the products, and tokens of the passes, that saturate a GPU.
constexpr double kFullRows = 16'384, kFullTokens = 65'536;
constexpr std::array kInnerSizes{64, 256, 1024, 2048, 4096, 8192};
constexpr double kFitBytes = 1 << 30;

EvaluateRow row_of(GpuNodes const& nodes, std::string const& precision) {
    EvaluateRow row;
    row.hardware = nodes.gpu;
    row.nodes = nodes.nodes;
    row.gpus_per_node = nodes.gpus_per_node;
    row.nic_gbit_per_gpu = nodes.nic_gbit_per_gpu;
    row.layout.precision = precision;
    row.layout.zero_stage = 2;  // PyTorch's kernels, as in the worker
    return row;
}

/// The model on one bucket; nullopt: one of them is unknown.
std::optional<ArchModel> model_of(RunConfig const& config, BucketSection const& bucket) {
    auto shape = model_shape(config.model.arch);
    if (shape.has_error()) return {};
    auto const key = nominal_key({.resolution = bucket.resolution, .num_frames = bucket.num_frames},
                                 shape->pixel_multiple());
    if (key.has_error()) return {};
    return ArchModel{.shape = std::move(*shape), .bucket = *key};
}

double tokens_of(ArchModel const& model) {
    return static_cast<double>(sample_cost(model.shape, model.bucket).tokens());
}

/// Number of samples whose pass saturates a GPU.
int full_batch(ArchModel const& model) {
    return std::max(1, static_cast<int>(kFullTokens / tokens_of(model)));
}

/// Forward and backward of a single rank.
double predicted_pass_s(EvaluateRow row, ArchModel const& model, int samples) {
    row.arch = model;
    row.nodes = row.gpus_per_node = 1;
    row.layout.micro_batch_size = samples;
    StepParts const parts = predict(row).parts;
    return parts.compute_s + parts.launch_s;
}

/// Time that launching operators adds to a pass: most of it overlaps with the GPU's work, so it is
/// the time of one sample beyond its part of a full batch.
double launch_floor_us(EvaluateRow const& row, ArchModel const& model, Calibration c) {
    int const full = full_batch(model) + 1;
    double const one_s = predicted_pass_s(row, model, 1);
    double const sample_s = (predicted_pass_s(row, model, full) - one_s) / (full - 1);
    StepQuery const query{.shape = model.shape, .bucket = model.bucket, .gpu = true};
    c.launch_floor_us = 0;
    double const formula_s = pass_time_s(query, c);
    c.launch_floor_us = 1;
    double const launch_s = pass_time_s(query, c) - formula_s;  // of 1 us
    return std::max(0.0, (one_s / sample_s - 1) * formula_s / launch_s);
}

AllReduceFit link_fit(EvaluateRow row) {
    int const ranks = static_cast<int>(std::clamp<std::int64_t>(row.gpus_per_node, 2, 8));
    row.nodes = 1;
    row.gpus_per_node = ranks;
    Links const links(row);
    auto const time = [&](double bytes) {
        return links.all_reduce_s(rank_group(ranks, 1, row.linked_gpus()), bytes);
    };
    return {
        .ranks = ranks, .a_s = time(0), .b_s_per_byte = (time(kFitBytes) - time(0)) / kFitBytes};
}

/// A default that the user did not write adapts.
void adapt_precision(Hardware const& gpu, PlanRequest& request) {
    auto& precision = request.config.optim.precision;
    bool const adapts = gpu.bf16 == 0 && !request.origins.contains("optim.precision");
    if (adapts && precision == "bf16") precision = "fp16";
}

/// memory.gpu_memory_gib if a layer sets it, else what the driver or the data sheet says, which it
/// is set to. 0: none of them is known.
std::int64_t settled_memory_bytes(std::int64_t driver_bytes, double sheet_gib,
                                  PlanRequest& request) {
    double const whole = static_cast<double>(kGiB);
    double& gib = request.config.memory.gpu_memory_gib;
    if (!request.origins.contains("memory.gpu_memory_gib")) {
        if (driver_bytes <= 0 && sheet_gib <= 0) return 0;
        gib = driver_bytes > 0 ? static_cast<double>(driver_bytes) / whole : sheet_gib;
    }
    return static_cast<std::int64_t>(gib * whole);
}

}  // namespace

Calibration nominal_rates(GpuNodes const& nodes, RunConfig const& config) {
    EvaluateRow const row = row_of(nodes, config.optim.precision);
    Calibration c = nominal_gpu();
    c.processor = nodes.gpu.name;
    c.matmul.clear();
    for (int const size : kInnerSizes) {
        double const flops = 2 * kFullRows * size * 4.0 * size;
        c.matmul.push_back(
            {.size = size, .gflops = flops / matmul_s(row, kFullRows, 4.0 * size, size) / 1e9});
    }
    c.memory_bandwidth_gbps = rates_of(row).memory_bytes / 1e9;
    c.all_reduce = link_fit(row);
    std::optional<ArchModel> smallest;
    std::vector<ModelStep> steps;
    for (BucketSection const& bucket : config.bucket) {
        auto const model = model_of(config, bucket);
        if (!model) continue;
        if (!smallest || tokens_of(*model) < tokens_of(*smallest)) smallest = model;
        int const samples = full_batch(*model);
        steps.push_back({.arch = config.model.arch,
                         .resolution = bucket.resolution,
                         .num_frames = bucket.num_frames,
                         .micro_batch_size = samples,
                         .threads = 1,
                         .forward_backward_s = predicted_pass_s(row, *model, samples)});
    }
    if (smallest) c.launch_floor_us = launch_floor_us(row, *smallest, c);
    c.model_steps = std::move(steps);
    return c;
}

std::optional<CollectiveCurve> nominal_network(GpuNodes const& nodes) {
    if (nodes.nodes < 2 || nodes.nic_gbit_per_gpu <= 0) return {};
    EvaluateRow const row = row_of(nodes, "bf16");
    Links const links(row);
    RankGroup const group = rank_group(row.world_size(), 1, row.linked_gpus());
    return CollectiveCurve::nominal([&](double bytes) { return links.all_reduce_s(group, bytes); },
                                    fmt::format("{:g} Gbit/s a GPU", nodes.nic_gbit_per_gpu));
}

void plan_for_gpus(GpuNodes const& nodes, std::int64_t memory_bytes, PlanRequest& request) {
    RunConfig& config = request.config;
    config.resources.nodes = nodes.nodes;
    config.resources.gpus_per_node = nodes.gpus_per_node;
    adapt_precision(nodes.gpu, request);
    std::int64_t const bytes = settled_memory_bytes(memory_bytes, nodes.gpu.memory_gib, request);
    topology::Node node =
        request.cluster.nodes.empty() ? topology::Node{} : std::move(request.cluster.nodes.front());
    node.gpus.assign(static_cast<std::size_t>(nodes.gpus_per_node), {nodes.gpu.name, bytes});
    request.cluster.nodes.assign(static_cast<std::size_t>(nodes.nodes), node);
    request.calibration = nominal_rates(nodes, config);
    request.nominal_gpu = nodes.gpu.name;
    request.nominal_network = nominal_network(nodes);
}

void plan_for_own_gpus(HardwareTable const& hardware, PlanRequest& request) {
    if (request.cluster.nodes.empty() || request.cluster.nodes.front().gpus.empty()) return;
    topology::Gpu const first = request.cluster.nodes.front().gpus.front();
    auto const found = hardware.find(first.name);
    bool const known = found.has_value() && found->name != "cpu";
    if (known) adapt_precision(*found, request);
    std::int64_t const bytes =
        settled_memory_bytes(first.memory_bytes, known ? found->memory_gib : 0, request);
    for (topology::Node& node : request.cluster.nodes) {
        for (topology::Gpu& gpu : node.gpus) gpu.memory_bytes = bytes;
    }
    if (!known || request.calibration.measured) return;
    auto const& resources = request.config.resources;
    request.calibration = nominal_rates(
        {.gpu = *found, .nodes = resources.nodes, .gpus_per_node = resources.gpus_per_node},
        request.config);
    request.nominal_gpu = first.name;
    request.gpu_found = true;
}

}  // namespace osora::plan
