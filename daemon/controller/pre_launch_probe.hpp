// Before a run on several nodes starts, its links are measured: a run with job = "probe" of its own
// in RUN_DIR/probe, in the same allocation, or a measurement of the same nodes that is not old. It
// never keeps the run from starting (docs/rfc/008).
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
    bool stopped = false;              // somebody wants no run any more
    std::string failure;               // why there is no result
    std::vector<std::string> exclude;  // slow nodes that spares can stand in for
};

/// Whether links are measured before a run: on several nodes, not switched off, and not what it
/// does itself.
[[nodiscard]] bool wants_probe(plan::RunConfig const& config, bool link_probe);

[[nodiscard]] PreLaunchProbeResult probe_before_launch(PreLaunchProbe const& before);

/// STATE/probes/HASH.json: the newest whole measurement of exactly these hosts.
[[nodiscard]] Result<topology::ProbeResult> read_kept_probe(std::filesystem::path const& state,
                                                            std::vector<std::string> hosts);
/// A measurement that is not of all nodes is not kept, nor one of hosts that are not known. Times
/// of collectives stay until there are newer ones.
[[nodiscard]] Result<void> cache_probe(std::filesystem::path const& state,
                                       std::vector<std::string> hosts,
                                       topology::ProbeResult const& result);

/// The slow nodes, worst first, as many as `spares`; only those that `hosts` names, as no other
/// name keeps a node out. Pure.
[[nodiscard]] std::vector<std::string> nodes_to_leave_out(topology::ProbeResult const& result,
                                                          std::vector<std::string> const& hosts,
                                                          int spares);

/// The settings of collectives that follow from what was measured, over those of the plan. Pure.
[[nodiscard]] std::vector<plan::NcclSetting> settings_after(topology::ProbeResult const& result,
                                                            plan::WorkerJob const& job,
                                                            plan::Origins const& origins,
                                                            Environment const& environment);

/// "16 nodes in 9.01 s: 15 within 4 % of 46.1 Gbit/s a pair; n11: ...; left out: n11". Pure.
[[nodiscard]] std::string probe_sentence(PreLaunchProbeResult const& probed);

}  // namespace osora::daemon
