// A run file with a comment for every key, made from the schema: what `osora init` writes. Pure.
#pragma once

#include "plan/config/run_config.hpp"

#include <string>

namespace osora::plan {

/// Keys of `config` that differ from their default, and those a beginner should see, are live
/// lines; the others are comments that show their default.
[[nodiscard]] std::string run_file_text(RunConfig const& config, std::string_view title);

/// What `osora init` starts from: small enough to train on one machine.
[[nodiscard]] RunConfig starting_config();

}  // namespace osora::plan
