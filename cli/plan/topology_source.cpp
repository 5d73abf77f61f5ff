#include "cli/plan/topology_source.hpp"

#include "base/files/files.hpp"
#include "base/process/capture.hpp"
#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "protocol/json.hpp"
#include "topology/sources/nccl_xml.hpp"
#include "topology/sources/read_machine.hpp"
#include "topology/sources/slurm_topology.hpp"
#include "topology/sources/source_kind.hpp"
#include "topology/sources/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using topology::ClusterTopology;
using topology::Machine;

constexpr std::int64_t kTopologyBytesMax = std::int64_t{1} << 30;
constexpr auto kScontrolLimit = std::chrono::seconds(5), kFactsLimit = std::chrono::seconds(10);
constexpr std::string_view kTopologySchema = "osora.topology/1";

bool is_root(fs::path const& folder) {
    return fs::is_directory(folder / "sys") || fs::is_directory(folder / "proc");
}

/// sysfs does not show NVLinks; NCCL's dump from the node does.
Result<void> add_nccl_facts(fs::path const& root, Machine& machine) {
    fs::path const file = root / "nccl_topo.xml";
    if (!fs::exists(file)) return {};
    OSORA_TRY(auto const text, read_file(file, kTopologyBytesMax));
    auto const parsed = topology::parse_nccl_xml(text);
    if (parsed.has_error()) return Error(parsed.error()).in(file.string());
    for (topology::MachineGpu& gpu : machine.gpus) {
        auto const same =
            std::ranges::find(parsed->gpus, gpu.address, &topology::MachineGpu::address);
        if (same == parsed->gpus.end()) continue;
        gpu.nvlinks = same->nvlinks;
        if (same->compute_capability > 0) gpu.compute_capability = same->compute_capability;
    }
    machine.nvswitch |= parsed->nvswitch;
    return {};
}

Result<ClusterTopology> from_json(std::string_view text) {
    OSORA_TRY(auto const value, protocol::parse_json(text));
    auto const* object = value.if_object();
    auto const* schema = object != nullptr ? object->if_contains("schema") : nullptr;
    if (schema == nullptr || !schema->is_string() || schema->get_string() != kTopologySchema) {
        return Error{Errc::invalid_input,
                     fmt::format("JSON without \"schema\": \"{}\"", kTopologySchema)};
    }
    return protocol::from_json<ClusterTopology>(value);
}

Result<ClusterTopology> from_file(fs::path const& file, std::string const& topology) {
    OSORA_TRY(auto const text, read_file(file, kTopologyBytesMax));
    bool const json = topology::source_kind(text) == topology::SourceKind::json && topology.empty();
    auto parsed = json ? from_json(text)
                       : topology::parse_topology_text(text, {file.stem().string(), topology});
    if (parsed.has_error()) return Error(parsed.error()).in(file.string());
    return parsed;
}

Result<ClusterTopology> from_root(fs::path const& root, std::string const& name) {
    ClusterTopology cluster;
    cluster.machines.push_back(topology::read_machine(root, name));
    OSORA_TRY_VOID(add_nccl_facts(root, cluster.machines.back()));
    return cluster;
}

void append(ClusterTopology& all, ClusterTopology more) {
    std::ranges::move(more.machines, std::back_inserter(all.machines));
    bool const has_fabric = !more.fabric.switches.empty() || !more.fabric.blocks.empty();
    if (has_fabric && all.fabric.switches.empty() && all.fabric.blocks.empty()) {
        all.fabric = std::move(more.fabric);
    }
}

/// A root, or a file of a kind that may be in a folder of nodes.
bool is_node(fs::path const& entry) {
    if (is_root(entry)) return true;
    auto const extension = entry.extension();
    bool const known =
        extension == ".xml" || extension == ".json" || extension == ".conf" || extension == ".yaml";
    return known && fs::is_regular_file(entry);
}

/// Reads in the order of `entries`, a few at a time: a recorded tree is hundreds of small files.
std::vector<Result<ClusterTopology>> read_nodes(std::vector<fs::path> const& entries) {
    std::vector<Result<ClusterTopology>> all(entries.size(), ClusterTopology());
    std::atomic<std::size_t> next = 0;
    auto const work = [&] {
        for (std::size_t i = next++; i < entries.size(); i = next++) {
            bool const root = is_root(entries[i]);
            all[i] = root ? from_root(entries[i], entries[i].filename().string())
                          : from_file(entries[i], "");
        }
    };
    std::size_t const threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min(threads, entries.size()); ++i) workers.emplace_back(work);
    work();
    return all;
}

Result<ClusterTopology> from_folder(fs::path folder) {
    if (is_root(folder)) return from_root(folder, "");
    if (fs::is_directory(folder / "nodes")) folder /= "nodes";
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        entries.push_back(at->path());
    }
    std::ranges::sort(entries);
    std::erase_if(entries, [](fs::path const& entry) { return !is_node(entry); });
    ClusterTopology all;
    for (auto& read : read_nodes(entries)) {
        OSORA_TRY(auto more, std::move(read));
        append(all, std::move(more));
    }
    if (entries.empty()) {
        return Error{Errc::not_found,
                     fmt::format("{}: neither a root (with sys/ or proc/) nor a folder of roots, "
                                 "*.xml or *.json",
                                 folder.string())};
    }
    return all;
}

/// The answer of scontrol on this machine; none if it is missing, does not answer or has no tree.
topology::Fabric slurm_fabric(Context const& context, std::string const& topology) {
    SpawnOptions spawning;
    std::string const path = variable_or(context.environment, "PATH", "/usr/bin:/bin");
    auto const program = find_in_path("scontrol", path);
    if (program.has_error()) return {};
    spawning.program = *program;
    spawning.arguments = {"show", "topology"};
    if (!topology.empty()) spawning.arguments.push_back(topology);
    spawning.environment = context.environment;
    auto const captured = run_captured(std::move(spawning), kScontrolLimit);
    if (captured.has_error() || !captured->ok()) return {};
    auto fabric = topology::parse_slurm_topology(captured->out, "scontrol show topology");
    return fabric.has_value() ? std::move(*fabric) : topology::Fabric();
}

Result<ClusterTopology> from_here(Context const& context, std::string const& topology) {
    ClusterTopology cluster;
    auto machine = machine_of_osorad(context);
    cluster.machines.push_back(machine ? std::move(*machine) : topology::read_machine("/"));
    cluster.fabric = slurm_fabric(context, topology);
    bool const none = cluster.fabric.switches.empty() && cluster.fabric.blocks.empty();
    if (none && !topology.empty()) {
        return Error{
            Errc::invalid_input,
            fmt::format("scontrol show topology {}: names no switch and no block", topology)};
    }
    auto const& environment = context.environment;
    std::string const address = variable_or(environment, "SLURM_TOPOLOGY_ADDR", "");
    if (cluster.fabric.switches.empty() && !address.empty()) {
        auto parsed = topology::parse_topology_addresses(
            {{address, variable_or(environment, "SLURM_TOPOLOGY_ADDR_PATTERN", "")}});
        if (parsed.has_value()) cluster.fabric = std::move(*parsed);
    }
    return cluster;
}

}  // namespace

std::optional<Machine> machine_of_osorad(Context const& context) {
    SpawnOptions spawning;
    spawning.program = context.program_dir / "osorad";
    std::error_code error;
    if (!fs::exists(spawning.program, error)) return {};
    spawning.arguments = {"facts"};
    spawning.environment = context.environment;
    auto const captured = run_captured(std::move(spawning), kFactsLimit);
    if (captured.has_error() || !captured->ok()) return {};
    auto machine = protocol::decode<Machine>(captured->out);
    return machine.has_value() ? std::optional(std::move(*machine)) : std::nullopt;
}

Result<ClusterTopology> load_topology(Context const& context, std::string const& source,
                                      std::string const& topology) {
    if (source.empty()) return from_here(context, topology);
    std::error_code error;
    bool const is_folder = fs::is_directory(source, error);
    if (!is_folder && fs::exists(source, error)) return from_file(source, topology);
    if (!topology.empty() && (is_folder || source.starts_with("synthetic:"))) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: no topology {} to choose: only a topology.yaml names several",
                                 source.substr(0, 200), topology)};
    }
    if (is_folder) return from_folder(source);
    auto const colon = source.find(':');
    if (source.starts_with("synthetic:")) return topology::parse_synthetic(source);
    std::string_view const known[] = {"synthetic"};
    bool const typo = colon != std::string::npos &&
                      nearest_name(std::string_view(source).substr(0, colon), known).has_value();
    return Error{Errc::not_found, fmt::format("{}: no such file or folder{}", source.substr(0, 200),
                                              typo ? "; did you mean synthetic:...?" : "")};
}

std::string topology_json(ClusterTopology const& cluster) {
    protocol::json::object object{{"schema", kTopologySchema}};
    for (auto const& [key, value] : protocol::object_to_json(cluster)) object[key] = value;
    return printable_json(protocol::json::serialize(object));
}

}  // namespace osora::cli
