// Gathers the inputs; every rule is in plan/.
#include "cli/cluster/advice_inputs.hpp"

#include "base/files/files.hpp"
#include "base/host_list.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "protocol/json.hpp"
#include "topology/nccl/nccl_catalogue.hpp"
#include "topology/nccl/nccl_conf.hpp"
#include "topology/sources/read_machine.hpp"
#include "topology/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

using plan::NcclFacts;

bool is_recorded_root(fs::path const& folder) {
    std::error_code error;
    return std::ranges::any_of(std::array{"sys", "proc", "etc"}, [&](char const* each) {
        return fs::is_directory(folder / each, error);
    });
}

/// "Cpus_allowed_list:\t0-31" of proc/self/status.
std::string allowed_cpus(fs::path const& root) {
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    auto const text = topology::text_of(root / "proc/self/status");
    auto const at = text.find(kKey);
    if (at == std::string::npos) return "";
    auto const first = text.find_first_not_of(" \t", at + kKey.size());
    if (first == std::string::npos) return "";
    return text.substr(first, text.find('\n', first) - first);
}

/// Where VM images keep NCCL's description of their machine type; NCCL finds the first one by
/// itself.
std::string topology_file(fs::path const& root) {
    constexpr std::array kFiles{"/var/run/nvidia-topologyd/virtualTopology.xml",
                                "/run/nvidia-topologyd/virtualTopology.xml",
                                "/opt/microsoft/ndv5-topo.xml",
                                "/opt/microsoft/ndv4-topo.xml",
                                "/opt/microsoft/ncv4/topo.xml",
                                "/etc/nccl/topo.xml",
                                "/etc/nccl-topo.xml"};
    std::error_code error;
    for (fs::path const file : kFiles) {
        if (fs::is_regular_file(root / file.relative_path(), error)) return file.string();
    }
    return "";
}

void add_node(NcclFacts& facts, fs::path const& root, std::string const& name,
              Environment const& environment) {
    auto machine = topology::read_machine(root, name);
    if (machine.name.empty()) machine.name = "node";
    facts.extras[machine.name] = {allowed_cpus(root), topology_file(root)};
    auto settings =
        topology::read_inherited_settings(topology::communication_variables(environment), root,
                                          variable_or(environment, "HOME", "/root"));
    facts.inherited.push_back({machine.name, std::move(settings)});
    facts.machines.push_back(std::move(machine));
}

Result<protocol::json::object> read_object(std::string const& file) {
    constexpr std::int64_t kBytesMax = std::int64_t{512} << 20;
    OSORA_TRY(auto const text, read_file(file, kBytesMax));
    auto value = protocol::parse_json(text);
    if (value.has_error()) return std::move(value.error()).in(file);
    if (!value->is_object()) {
        return Error{Errc::invalid_input, file + ": expected an object: {...}"};
    }
    return std::move(value->get_object());
}

/// The facts that --root, --topology and --probe name, or this machine's.
Result<NcclFacts> named_facts(Context const& context, Arguments const& arguments) {
    NcclFacts facts;
    auto const root = arguments.value("--root");
    auto const file = arguments.value("--topology");
    auto const probe = arguments.value("--probe");
    if (root && file) {
        return Error{Errc::invalid_input, "--root and --topology: give one of the two"};
    }
    if (root) {
        OSORA_TRY(facts, facts_below(*root));
    } else if (file) {
        OSORA_TRY(auto cluster, read_topology_json(*file));
        facts.machines = std::move(cluster.machines);
        facts.fabric = std::move(cluster.fabric);
    } else if (!probe) {
        add_node(facts, "/", "", context.environment);
    }
    if (facts.inherited.empty()) {
        auto const seen = topology::communication_variables(context.environment);
        plan::NodeInherited all;
        if (!root) all.settings = topology::read_inherited_settings(seen, "/", "");
        std::erase_if(all.settings,
                      [](auto const& each) { return !each.origin.starts_with("environment"); });
        facts.inherited.push_back(std::move(all));
    }
    if (probe) {
        OSORA_TRY(facts.probe, read_probe_json(*probe));
        plan::add_probed_nodes(facts, *facts.probe);
    }
    if (auto const version = arguments.value("--nccl-version")) {
        auto const code = topology::nccl_version_code(*version);
        if (!code) {
            return Error{Errc::invalid_input,
                         fmt::format("--nccl-version {}: expected one like 2.21.5", *version)};
        }
        facts.nccl_version = *code;
    }
    facts.tuner_plugin = arguments.value("--tuner").value_or("");
    return facts;
}

bool wants_nccl(Arguments const& arguments, NcclFacts const& facts) {
    auto const backend = arguments.value("--backend");
    if (!backend) {
        return std::ranges::any_of(facts.machines,
                                   [](auto const& machine) { return !machine.gpus.empty(); });
    }
    return *backend == "nccl";
}

std::string title_of(plan::AdviceInputs const& inputs) {
    std::string text = fmt::format("{} node{}", inputs.nodes, inputs.nodes == 1 ? "" : "s");
    if (inputs.machines.size() != static_cast<std::size_t>(inputs.nodes)) {
        text += fmt::format(" ({} known)", inputs.machines.size());
    }
    text += inputs.gpu ? ", NCCL" : ", CPU ranks over Gloo";
    return text + (inputs.probe ? ", with a probe" : ", not probed");
}

}  // namespace

Result<NcclFacts> facts_below(fs::path const& root) {
    std::error_code error;
    if (!fs::is_directory(root, error)) {
        return Error{Errc::not_found, root.string() + ": no such folder"};
    }
    NcclFacts facts;
    if (is_recorded_root(root)) {
        add_node(facts, root, "", topology::recorded_environment(root));
        return facts;
    }
    fs::path const folder = fs::is_directory(root / "nodes", error) ? root / "nodes" : root;
    std::vector<fs::path> nodes;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (is_recorded_root(at->path())) nodes.push_back(at->path());
    }
    if (nodes.empty()) {
        return Error{Errc::invalid_input,
                     root.string() +
                         ": neither a recorded root (sys/, proc/, etc/) nor a folder "
                         "of them"};
    }
    std::ranges::sort(nodes);
    for (fs::path const& each : nodes) {
        add_node(facts, each, each.filename().string(), topology::recorded_environment(each));
    }
    return facts;
}

Result<topology::ClusterTopology> read_topology_json(std::string const& file) {
    OSORA_TRY(auto const object, read_object(file));
    if (!object.contains("machines")) {
        return Error{Errc::invalid_input,
                     file + ": no \"machines\" in it; osora topology import writes such files"};
    }
    auto cluster = protocol::from_json<topology::ClusterTopology>(object);
    if (cluster.has_error()) return std::move(cluster.error()).in(file);
    std::set<std::string> names;
    for (auto const& each : cluster->machines) {
        if (!names.insert(each.name).second) {
            return Error{Errc::invalid_input,
                         fmt::format("{}: two machines called '{}'", file, each.name)};
        }
    }
    return std::move(*cluster);
}

Result<topology::ProbeResult> read_probe_json(std::string const& file) {
    OSORA_TRY(auto const object, read_object(file));
    auto const* const inner = object.if_contains("result");
    auto const value =
        inner != nullptr && inner->is_object() ? *inner : protocol::json::value(object);
    auto probe = protocol::from_json<topology::ProbeResult>(value);
    if (probe.has_error()) return std::move(probe.error()).in(file);
    if (probe->nodes.empty()) {
        return Error{Errc::invalid_input, file +
                                              ": no \"nodes\" in it; osora probe --json writes "
                                              "such files"};
    }
    return std::move(*probe);
}

boost::system::result<AdviceSources, int> advice_sources(Context const& context,
                                                         Arguments const& arguments) {
    plan::ResolvedConfig resolved;
    bool const has_run_file = arguments.has("RUN.toml");
    if (has_run_file) {
        resolved = plan::load_config(config_request(context, arguments));
        if (!resolved.problems.empty()) {
            cli::print(stderr, "{}", problem_list(resolved.problems));
            return kExitUsage;
        }
    }
    auto facts = named_facts(context, arguments);
    if (facts.has_error()) {
        auto const code = facts.error().code;
        return fail(code == Errc::not_found ? kExitUsage : exit_code_for(code), facts.error());
    }
    bool const nccl = wants_nccl(arguments, *facts);
    AdviceSources sources;
    auto const known = static_cast<int>(facts->machines.size());
    sources.inputs =
        plan::advice_inputs(resolved.config, resolved.origins, {}, std::move(*facts), nccl);
    if (!has_run_file) sources.inputs.nodes = std::max(1, known);
    sources.title = title_of(sources.inputs);
    return sources;
}

std::vector<OptionSpec> advice_options() {
    return {{.name = "--root",
             .value = "DIR",
             .help = "A recorded tree of one node (sys, proc, etc), or a folder of them.",
             .complete = Complete::folder},
            {.name = "--topology",
             .value = "FILE",
             .help = "Machines as osora topology import writes them.",
             .complete = Complete::file},
            {.name = "--probe",
             .value = "FILE",
             .help = "What osora probe --json printed.",
             .complete = Complete::file},
            {.name = "--backend",
             .value = "B",
             .help = "Else NCCL where there are GPUs.",
             .choices = "gloo|nccl"},
            {.name = "--nccl-version", .value = "V", .help = "Of the run: 2.21.5."},
            {.name = "--tuner",
             .value = "FILE",
             .help = "NCCL's tuner plug-in, where every node has it.",
             .complete = Complete::file},
            set_option(),
            json_option()};
}

std::string nodes_text(std::vector<std::string> const& nodes) {
    return nodes.empty() ? std::string() : fold_hosts(nodes);
}

}  // namespace osora::cli
