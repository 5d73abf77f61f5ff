// What an agent checks before its node takes part in a run: faults that one of many ranks would
// otherwise hit an hour later. Findings travel as the fact "preflight" of its hello.
#pragma once

#include "base/environment.hpp"
#include "plan/worker_job.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::daemon {

struct PreflightOptions {
    plan::WorkerJob job;
    std::filesystem::path worker_program;
    Environment environment;  // of the workers
    int node = 0;             // names the file that is written
    std::int64_t wall_us = 0;
    std::int64_t free_bytes_min = std::int64_t{1} << 30;
    double clock_skew_max_s = 5;  // against the file system's clock
};

/// One sentence each; empty: no fault. Checks: checkpoint folder writable, disk free, manifest
/// readable, program present, clock sane.
[[nodiscard]] std::vector<std::string> preflight(PreflightOptions const& options);

/// The same for the job of `run_dir`, as one text; "ok" without a finding.
[[nodiscard]] std::string preflight_fact(std::filesystem::path const& run_dir,
                                         PreflightOptions options);

}  // namespace osora::daemon
