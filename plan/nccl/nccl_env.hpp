// The settings of NCCL and Gloo that a run will have, each with its origin: the user's, then those
// derived from probe and facts, then inherited ones, then osora's defaults. Pure.
#pragma once

#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "plan/nccl/nccl_advice.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// What is known of a run's machines; all of it may be missing.
struct NcclFacts {
    std::vector<topology::Machine> machines;
    topology::Fabric fabric;
    std::optional<topology::ProbeResult> probe;
    std::vector<NodeInherited> inherited;
    std::map<std::string, NodeExtras> extras;
    int nccl_version = 0;
    std::string tuner_plugin;
};

/// Nodes that only the probe knows, with the interfaces that it measured.
void add_probed_nodes(NcclFacts& facts, topology::ProbeResult const& probe);

/// Collects [nccl] and [worker] env of a run file, the variables of `environment` (unless `facts`
/// have the inherited ones) and the facts as input for advise_nccl().
[[nodiscard]] AdviceInputs advice_inputs(RunConfig const& config, Origins const& origins,
                                         std::map<std::string, std::string> const& environment,
                                         NcclFacts facts, bool gpu);

/// Sorted by name; without the preflight's settings.
[[nodiscard]] std::vector<NcclSetting> nccl_settings(AdviceInputs const& inputs);

/// "run file: stage1.toml:41", "--set", "site file: /etc/osora/site.toml:3", "environment".
[[nodiscard]] std::string origin_text(Origin const& origin);

}  // namespace osora::plan
