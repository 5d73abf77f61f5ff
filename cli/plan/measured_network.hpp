// What an earlier probe measured of the nodes that a run would use, for its plan.
#pragma once

#include "cli/command/context.hpp"
#include "plan/config/run_config.hpp"
#include "plan/planner.hpp"
#include "topology/probe/probe_cache.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace osora::cli {

/// The probes in STATE/probes.
[[nodiscard]] topology::ProbeCache probe_cache(std::filesystem::path const& state,
                                               std::int64_t wall_us);

/// Chooses among the complete measurements in STATE/probes of the run's backend that are at most 30
/// days old: those with times of collectives first, then the newest. If the run's hosts are known
/// ([ssh], or inside a job), the probe must have measured all of them except spares; Slurm's hosts
/// are not known before the job starts.
[[nodiscard]] std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                                    plan::RunConfig const& config,
                                                                    bool gpu, std::int64_t wall_us);

}  // namespace osora::cli
