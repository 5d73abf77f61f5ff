// A run as it was submitted. Its record (submission.json, the first event of a journal) holds the
// settings as JSON, since protocol/ does not know them; here they are types.
#pragma once

#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "protocol/journal/run_events.hpp"
#include "protocol/run_directory.hpp"

namespace osora::plan {

struct SubmittedRun {
    protocol::RunSubmitted record;
    RunConfig config;  // relative paths start at record.base_dir; secrets are digests
    Origins origins;   // empty: written by another version
};

/// invalid_input names the run and the first field that is missing or wrong. Settings that another
/// version did not write have their default; those that this one does not know are left out.
[[nodiscard]] Result<SubmittedRun> submitted_run(protocol::RunSubmitted record);

/// From submission.json; errors name the file.
[[nodiscard]] Result<SubmittedRun> read_submitted_run(protocol::RunPaths const& paths);

/// The record alone, for callers that take any settings.
[[nodiscard]] Result<protocol::RunSubmitted> read_submission(protocol::RunPaths const& paths);

}  // namespace osora::plan
