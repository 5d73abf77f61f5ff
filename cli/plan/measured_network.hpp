// What an earlier probe measured of the nodes that a run would get, for its plan.
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

/// Of the whole measurements in STATE/probes, at most 30 days old and of the run's backend: one
/// with times of collectives before others, then the newest. Where the run's hosts are known
/// ([ssh], or a job) it has measured all but spares of them; Slurm's are not known before the job
/// starts.
[[nodiscard]] std::optional<plan::MeasuredNetwork> measured_network(Context const& context,
                                                                    plan::RunConfig const& config,
                                                                    bool gpu, std::int64_t wall_us);

}  // namespace osora::cli
