// Rates that a plan needs for a GPU without measurements: from its data sheet, by the equations of
// `osora plan evaluate` (docs/rfc/027). Pure.
#pragma once

#include "plan/evaluate/hardware.hpp"
#include "plan/planner.hpp"

#include <optional>
#include <string>

namespace osora::plan {

/// Nodes of equal GPUs.
struct GpuNodes {
    Hardware gpu;
    int nodes = 1;
    int gpus_per_node = 1;
    double nic_gbit_per_gpu = 0;  // 0: not known
};

/// measured = false; matrix products in this precision.
[[nodiscard]] Calibration nominal_rates(GpuNodes const& nodes, std::string const& precision);

/// all_reduce over all GPUs of several nodes; nullopt: one node, or its cards are unknown.
[[nodiscard]] std::optional<CollectiveCurve> nominal_network(GpuNodes const& nodes);

/// Prepares `request` for planning on these nodes: resources, GPUs, memory and precision (unless a
/// layer sets memory.gpu_memory_gib, optim.precision), rates and network. `memory_bytes`: of one
/// GPU, as its driver reports it; 0: as in the data sheet.
void plan_for_gpus(GpuNodes const& nodes, std::int64_t memory_bytes, PlanRequest& request);

/// Prepares `request` for the GPUs that its cluster has: their memory (as set by a layer, reported
/// by the driver, or in the data sheet), their precision as above, and the rates of the data sheet
/// unless its calibration was measured. A GPU whose name is unknown keeps the rates of `request`.
void plan_for_own_gpus(HardwareTable const& hardware, PlanRequest& request);

}  // namespace osora::plan
