// `osora-worker --sample CHECKPOINT`: a clip from a checkpoint as an MP4, and frames of it as one
// picture. Started by `osora sample`.
#pragma once

#include "base/result.hpp"
#include "worker/jobs/sample/sample_request.hpp"

#include <string>

namespace osora::worker {

/// Samples, decodes, writes both files and returns a summary as JSON (osora.sample/1). Writes
/// nothing before the sample is complete; a wrong request is invalid_input.
[[nodiscard]] Result<std::string> run_sample_command(SampleRequest const& request);

}  // namespace osora::worker
