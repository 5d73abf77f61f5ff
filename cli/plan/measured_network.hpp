// What an earlier probe measured of the nodes that a run would use, for its plan.
#pragma once

#include "cli/command/context.hpp"
#include "plan/config/run_config.hpp"
#include "plan/planner.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace osora::cli {

struct CachedProbe {
    std::filesystem::path path;
    std::filesystem::file_time_type written;
};
/// The files of STATE/probes, newest first.
[[nodiscard]] std::vector<CachedProbe> cached_probes(std::filesystem::path const& state);

/// Chooses among the complete measurements in STATE/probes of the run's backend that are at most 30
/// days old: those with times of collectives first, then the newest. If the run's hosts are known
/// ([ssh], or inside a job), the probe must have measured all of them except spares; Slurm's hosts
/// are not known before the job starts.
[[nodiscard]] std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                                    plan::RunConfig const& config,
                                                                    bool gpu, std::int64_t wall_us);

}  // namespace osora::cli
