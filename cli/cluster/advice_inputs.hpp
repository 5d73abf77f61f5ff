// The inputs of osora nccl env and advise: a run file, machines (recorded trees, a topology, this
// machine), a probe, and settings that ranks inherit.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/command/command.hpp"
#include "cli/command/context.hpp"
#include "plan/config/run_file.hpp"
#include "plan/nccl/nccl_env.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// The machines and the settings on them. A root with sys/, proc/ or etc/ in it is one node; a
/// folder of such roots (also below nodes/) is one node per root, named as its folder. not_found:
/// no such folder; invalid_input: neither of the two.
[[nodiscard]] Result<plan::NcclFacts> facts_below(std::filesystem::path const& root);

/// {"schema": "osora.topology/1", "fabric", "machines"}; errors name the file.
[[nodiscard]] Result<topology::ClusterTopology> read_topology_json(std::string const& file);
/// {"schema": "osora.probe/1", ...}: a ProbeResult, or an object that has one as its "result".
[[nodiscard]] Result<topology::ProbeResult> read_probe_json(std::string const& file);

struct AdviceSources {
    plan::AdviceInputs inputs;
    std::string title;  // "4 nodes, CPU ranks over Gloo, measured"
};
/// On failure: the error is printed; this is the exit code.
[[nodiscard]] boost::system::result<AdviceSources, int> advice_sources(Context const& context,
                                                                       Arguments const& arguments);

/// --root, --topology, --probe, --backend, --nccl-version, --tuner, --set, --json.
[[nodiscard]] std::vector<OptionSpec> advice_options();

/// "n[0-2],n7", or "" for all nodes.
[[nodiscard]] std::string nodes_text(std::vector<std::string> const& nodes);

}  // namespace osora::cli
