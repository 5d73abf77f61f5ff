// A run file with a comment for every key, made from the schema: what `osora init` writes. Pure.
#pragma once

#include "plan/config/run_config.hpp"

#include <string>

namespace osora::plan {

/// Which keys are uncommented; the others are comments that show their default. A file with only
/// the changed keys resolves to the same settings, and adds no further requests.
enum class LiveKeys { changed, changed_and_first };

/// changed: those that differ from their default; first: those that a beginner should see.
[[nodiscard]] std::string run_file_text(RunConfig const& config, std::string_view title,
                                        LiveKeys live = LiveKeys::changed_and_first);

/// The start of `osora init`: small enough to train on one machine.
[[nodiscard]] RunConfig starting_config();

}  // namespace osora::plan
