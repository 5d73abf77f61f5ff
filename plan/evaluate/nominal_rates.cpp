// Computes with the equations of plan/evaluate what osora-worker --calibrate would have measured.
#include "plan/evaluate/nominal_rates.hpp"

#include "base/text/units.hpp"
#include "plan/evaluate/collective_cost.hpp"
#include "plan/evaluate/work_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

/// Rows of the products, as osora-worker --calibrate.
constexpr double kFullRows = 16'384;
constexpr std::array kInnerSizes{64, 256, 1024, 2048, 4096, 8192};
constexpr double kFitBytes = 1 << 30;

EvaluateRow row_of(GpuNodes const& nodes, std::string const& precision) {
    EvaluateRow row;
    row.hardware = nodes.gpu;
    row.nodes = nodes.nodes;
    row.gpus_per_node = nodes.gpus_per_node;
    row.nic_gbit_per_gpu = nodes.nic_gbit_per_gpu;
    row.layout.precision = precision;
    return row;
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

Calibration nominal_rates(GpuNodes const& nodes, std::string const& precision) {
    EvaluateRow const row = row_of(nodes, precision);
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
    request.calibration = nominal_rates(nodes, config.optim.precision);
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
        request.config.optim.precision);
    request.nominal_gpu = first.name;
    request.gpu_found = true;
}

}  // namespace osora::plan
