// The files of a new run directory (protocol/run_directory.hpp), made before its controller starts.
#pragma once

#include "base/result.hpp"
#include "cli/run/runs.hpp"
#include "plan/collective_request.hpp"
#include "plan/config/run_file.hpp"
#include "plan/config/submitted_run.hpp"
#include "plan/decision.hpp"
#include "plan/rehearsal.hpp"
#include "topology/probe_request.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

struct Submission {
    plan::ResolvedConfig resolved;
    plan::PlanDecision plan;
    std::vector<plan::BucketCompute> rehearsal;   // job = "rehearse"
    std::optional<topology::ProbeRequest> probe;  // job = "probe"
    plan::CollectiveRequest collectives;          // the same; empty: links only
    std::filesystem::path base_dir;               // base folder of the run file's relative paths
    bool attached = true;
    std::string user, host;
    std::int64_t submitted_us = 0;
    std::map<std::string, std::string> facts;
    std::string secret_key;  // key of the digests that replace secrets
};

/// submission.json; pure. The uuid is an argument because it is random.
[[nodiscard]] protocol::RunSubmitted submitted_event(Submission const& submission,
                                                     RunFolder const& run, std::string uuid);

/// Makes the run directory and its files; on error removes all of them.
[[nodiscard]] Result<RunFolder> create_run(std::filesystem::path const& state,
                                           Submission const& submission);

/// The keys of an earlier run that came from --set, as "train.steps=50".
[[nodiscard]] std::vector<std::string> sets_of(plan::SubmittedRun const& submitted);

}  // namespace osora::cli
