// [[stage]] tables applied to the rest of a run file, in order, after all layers and --set. Private
// to plan/config: includes toml++.
#pragma once

#include "plan/config/run_file.hpp"

#include <toml++/toml.h>

namespace osora::plan {

/// The [[stage]] tables of the highest layer that has any.
struct StageTables {
    toml::array tables;
    Origin origin;
};

/// Adds resolved.stages and their problems: values, the order of at_step, keys that cannot change
/// during a run, and the rules between keys in each stage.
void read_stages(StageTables const& stages, ResolvedConfig& resolved);

}  // namespace osora::plan
