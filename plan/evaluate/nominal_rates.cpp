// Asks the equations of plan/evaluate for what osora-worker --calibrate would have measured.
#include "plan/evaluate/nominal_rates.hpp"

#include "base/units.hpp"
#include "plan/evaluate/collective_cost.hpp"
#include "plan/evaluate/evaluate.hpp"
#include "plan/evaluate/work_time.hpp"
#include "plan/model_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

/// Rows of the products, and tokens of the passes, that fill a GPU.
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
    row.layout.zero_stage = 2;  // kernels of PyTorch, as the worker has them
    return row;
}

/// Forward and backward of one rank on its own; nullopt: the model or the bucket is not known.
std::optional<ModelStep> predicted_step(EvaluateRow row, RunConfig const& config,
                                        BucketSection const& bucket) {
    auto shape = model_shape(config.model.arch);
    if (shape.has_error()) return {};
    auto const key = nominal_key({.resolution = bucket.resolution, .num_frames = bucket.num_frames},
                                 shape->pixel_multiple());
    if (key.has_error()) return {};
    double const tokens = static_cast<double>(sample_cost(*shape, *key).tokens());
    auto const samples = std::max<std::int64_t>(1, static_cast<std::int64_t>(kFullTokens / tokens));
    row.arch = ArchModel{.shape = std::move(*shape), .bucket = *key};
    row.nodes = row.gpus_per_node = 1;
    row.layout.micro_batch_size = samples;
    StepParts const parts = predict(row).parts;
    return ModelStep{.arch = config.model.arch,
                     .resolution = bucket.resolution,
                     .num_frames = bucket.num_frames,
                     .micro_batch_size = static_cast<int>(samples),
                     .threads = 1,
                     .forward_backward_s = parts.compute_s + parts.launch_s};
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
    c.launch_floor_us *= nodes.gpu.launch_share;
    c.memory_bandwidth_gbps = rates_of(row).memory_bytes / 1e9;
    c.all_reduce = link_fit(row);
    for (BucketSection const& bucket : config.bucket) {
        if (auto step = predicted_step(row, config, bucket)) c.model_steps.push_back(*step);
    }
    return c;
}

std::optional<AllReduceCurve> nominal_network(GpuNodes const& nodes) {
    if (nodes.nodes < 2 || nodes.nic_gbit_per_gpu <= 0) return {};
    EvaluateRow const row = row_of(nodes, "bf16");
    Links const links(row);
    RankGroup const group = rank_group(row.world_size(), 1, row.linked_gpus());
    return AllReduceCurve::nominal([&](double bytes) { return links.all_reduce_s(group, bytes); },
                                   fmt::format("{:g} Gbit/s a GPU", nodes.nic_gbit_per_gpu));
}

void plan_for_gpus(GpuNodes const& nodes, std::int64_t memory_bytes, PlanRequest& request) {
    RunConfig& config = request.config;
    config.resources.nodes = nodes.nodes;
    config.resources.gpus_per_node = nodes.gpus_per_node;
    double const whole = static_cast<double>(kGiB);
    if (!request.origins.contains("memory.gpu_memory_gib")) {
        config.memory.gpu_memory_gib =
            memory_bytes > 0 ? static_cast<double>(memory_bytes) / whole : nodes.gpu.memory_gib;
    }
    auto const bytes = static_cast<std::int64_t>(config.memory.gpu_memory_gib * whole);
    topology::Node node =
        request.cluster.nodes.empty() ? topology::Node{} : std::move(request.cluster.nodes.front());
    node.gpus.assign(static_cast<std::size_t>(nodes.gpus_per_node), {nodes.gpu.name, bytes});
    request.cluster.nodes.assign(static_cast<std::size_t>(nodes.nodes), node);
    request.calibration = nominal_rates(nodes, config);
    request.nominal_gpu = nodes.gpu.name;
    request.nominal_network = nominal_network(nodes);
}

}  // namespace osora::plan
