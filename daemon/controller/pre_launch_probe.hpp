// Before a run on several nodes starts, its links are measured: by a separate run with job =
// "probe" in RUN_DIR/probe, in the same allocation; a recent measurement of the same nodes serves
// instead. It never keeps the run from starting (docs/rfc/008).
#pragma once

#include "daemon/controller/one_run.hpp"
#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "plan/worker_job.hpp"
#include "topology/probe_result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace osora::daemon {

struct PreLaunchProbe {
    protocol::RunPaths paths;  // of the run that is to start
    protocol::RunSubmitted submission;
    plan::RunConfig config;
    Environment environment;
    std::int64_t wall_us = 0;
    /// Runs the controller of a run directory to its end.
    std::function<Result<int>(protocol::RunPaths const&)> run;
};

struct PreLaunchProbeResult {
    std::optional<topology::ProbeResult> result;
    double age_s = 0;  // 0: measured now
    double took_s = 0;
    bool stopped = false;              // a stop of the run was requested
    std::string failure;               // why there is no result
    std::vector<std::string> exclude;  // slow nodes that spares can replace
};

/// Whether links are measured before a run: it has several nodes, the probe is not switched off,
/// and the run is not itself a probe.
[[nodiscard]] bool wants_probe(plan::RunConfig const& config, bool link_probe);

[[nodiscard]] PreLaunchProbeResult probe_before_launch(PreLaunchProbe const& before);

/// Saves a measurement in STATE/probes, for topology::ProbeCache, unless some of its nodes are
/// missing or its hosts are unknown. Times of collectives stay until there are newer ones.
[[nodiscard]] Result<void> cache_probe(std::filesystem::path const& state,
                                       std::vector<std::string> hosts,
                                       topology::ProbeResult const& result);

/// The slow nodes, worst first, at most `spares`; only those in `hosts`, since no other name can
/// exclude a node. Pure.
[[nodiscard]] std::vector<std::string> nodes_to_leave_out(topology::ProbeResult const& result,
                                                          std::vector<std::string> const& hosts,
                                                          int spares);

/// The settings of collectives that follow from the measurement, applied over those of the plan.
/// Pure.
[[nodiscard]] std::vector<plan::NcclSetting> settings_after(topology::ProbeResult const& result,
                                                            plan::WorkerJob const& job,
                                                            plan::Origins const& origins,
                                                            Environment const& environment);

/// "16 nodes in 9.01 s: 15 within 4 % of 46.1 Gbit/s a pair; n11: ...; left out: n11". Pure.
[[nodiscard]] std::string probe_sentence(PreLaunchProbeResult const& probed);

}  // namespace osora::daemon
