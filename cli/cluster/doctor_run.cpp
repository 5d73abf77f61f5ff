#include "cli/cluster/doctor_run.hpp"

#include "cli/run/journal_tail.hpp"
#include "topology/assignment.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

namespace osora::cli {
namespace {

namespace doctor = topology::doctor;
namespace json = protocol::json;

/// What the newest records of a run say about each node.
struct RunFacts {
    protocol::RunView view;
    std::map<int, std::string> hosts;
    std::map<int, std::map<std::string, std::string>> node_facts;
    std::map<int, protocol::RankStarted> ranks;           // of the newest attempt
    std::map<int, std::map<int, std::vector<int>>> xids;  // by node and GPU
    json::value config;
    int attempt = 0;
};

void take(RunFacts& facts, protocol::JournalRecord const& record) {
    if (auto const* joined = std::get_if<protocol::AgentJoined>(&record.event)) {
        facts.hosts[joined->node] = joined->host;
        facts.node_facts[joined->node] = joined->facts;
    } else if (auto const* launch = std::get_if<protocol::LaunchOrdered>(&record.event)) {
        facts.attempt = launch->attempt;
        facts.ranks.clear();
    } else if (auto const* started = std::get_if<protocol::RankStarted>(&record.event)) {
        facts.ranks[started->rank] = *started;
    } else if (auto const* submitted = std::get_if<protocol::RunSubmitted>(&record.event)) {
        facts.config = submitted->config;
    } else if (auto const* health = std::get_if<protocol::NodeHealth>(&record.event)) {
        for (auto const& gpu : health->gpus) {
            auto& list = facts.xids[health->node][gpu.gpu];
            list.insert(list.end(), gpu.xids.begin(), gpu.xids.end());
        }
    }
    fold(facts.view, record);
}

Result<RunFacts> read_facts(RunFolder const& run) {
    JournalTail tail(run.paths.journal());
    RunFacts facts;
    while (true) {
        OSORA_TRY(auto const records, tail.read());
        if (records.empty()) break;
        for (auto const& each : records) take(facts, each);
    }
    if (facts.view.records > 0) return facts;
    return Error{Errc::not_found, fmt::format("run {} has no journal yet", run.number)};
}

/// Names of versions in facts.
void add_versions(doctor::NodeEvidence& node, std::map<std::string, std::string> const& facts) {
    constexpr std::array<std::pair<char const*, char const*>, 8> kNames{{{"torch", "libtorch"},
                                                                         {"nccl", "nccl"},
                                                                         {"nccl.version", "nccl"},
                                                                         {"cuda", "cuda"},
                                                                         {"driver", "driver"},
                                                                         {"ffmpeg", "ffmpeg"},
                                                                         {"ofed", "ofed"},
                                                                         {"kernel", "kernel"}}};
    for (auto const& [fact, name] : kNames) {
        auto const found = facts.find(fact);
        if (found != facts.end() && !found->second.empty()) node.versions[name] = found->second;
    }
    // The library that a rank has loaded: "cuda:0, NVIDIA H200, NCCL 2.28.9".
    constexpr std::string_view kLoaded = ", NCCL ";
    auto const device = facts.find("device");
    auto const at = device == facts.end() ? std::string::npos : device->second.find(kLoaded);
    if (at != std::string::npos) {
        node.versions["nccl"] = device->second.substr(at + kLoaded.size());
    }
}

/// Variables as the worker saw them, unless the node's files already say where they come from.
void add_settings(doctor::NodeEvidence& node, std::map<std::string, std::string> const& facts) {
    for (auto const& [name, value] : facts) {
        if (!topology::is_communication_variable(name)) continue;
        bool const known = std::ranges::any_of(
            node.settings, [&](auto const& each) { return each.name == name && each.effective; });
        if (!known) {
            node.settings.push_back({.name = name, .value = value, .origin = "environment"});
        }
    }
}

void add_health(doctor::NodeEvidence& node, protocol::NodeHealth const& health,
                std::map<int, std::vector<int>> const& xids) {
    for (auto const& gpu : health.gpus) {
        auto const seen = xids.find(gpu.gpu);
        node.gpus.push_back({.gpu = gpu.gpu,
                             .temperature_c = gpu.temperature_c,
                             .sm_mhz = gpu.sm_mhz,
                             .throttle_reasons = gpu.throttle_reasons,
                             .ecc_uncorrected = gpu.ecc_uncorrected,
                             .xids = seen == xids.end() ? gpu.xids : seen->second});
    }
}

doctor::NodeEvidence& node_named(doctor::Evidence& evidence, std::string const& name) {
    auto found = std::ranges::find(evidence.nodes, name, &doctor::NodeEvidence::name);
    if (found != evidence.nodes.end()) return *found;
    evidence.nodes.emplace_back().name = name;
    return evidence.nodes.back();
}

/// NCCL logs its choices at the start and errors at the end.
void add_log(doctor::NodeEvidence& node, std::filesystem::path const& file) {
    constexpr std::size_t kBytes = 1 << 20;
    if (check_regular(file).has_error()) return;
    std::ifstream in(file, std::ios::binary);
    auto const read = [&] {
        std::string text(kBytes, '\0');
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
        return text;
    };
    doctor::add_nccl_log(node.log, read());
    std::error_code error;
    auto const size = std::filesystem::file_size(file, error);
    if (error || size <= kBytes) return;
    in.clear();
    in.seekg(static_cast<std::streamoff>(std::max<std::uintmax_t>(kBytes, size - kBytes)));
    doctor::add_nccl_log(node.log, read());
}

json::value const* at(json::value const& config, std::string_view section, std::string_view key) {
    auto const* object = config.if_object();
    auto const* found = object == nullptr ? nullptr : object->if_contains(section);
    auto const* inner = found == nullptr ? nullptr : found->if_object();
    return inner == nullptr ? nullptr : inner->if_contains(key);
}

doctor::RunEvidence run_evidence(RunFacts const& facts) {
    auto const& view = facts.view;
    doctor::RunEvidence run{.nodes = view.nodes,
                            .ranks = view.nodes * view.ranks_per_node,
                            .own_settings = {},
                            .collectives = {},
                            .step_s = view.step_time_s,
                            .late_node = {}};
    auto const share = [](double value) { return std::isfinite(value) ? value : 0.0; };
    run.exposed_comm_share = share(view.exposed_comm_share);
    run.data_wait_share = share(view.data_wait_share);
    if (auto const* object = facts.config.if_object()) {
        auto const* nccl = object->if_contains("nccl");
        for (auto const& [name, value] :
             nccl != nullptr && nccl->is_object() ? nccl->get_object() : json::object()) {
            if (value.is_string()) run.own_settings[std::string(name)] = value.get_string();
        }
    }
    if (auto const* value = at(facts.config, "debug", "collectives"); value && value->is_string()) {
        run.collectives = value->get_string();
    }
    if (auto const* value = at(facts.config, "parallel", "grad_bucket_mib");
        value && value->is_number()) {
        run.grad_bucket_mib = value->to_number<double>();
    }
    if (view.straggler) {
        run.late_rank = view.straggler->rank;
        run.late_share = share(view.straggler->share);
        run.late_steps = view.straggler->steps;
        run.of_steps = view.straggler->of_steps;
        auto const rank = facts.ranks.find(run.late_rank);
        auto const host =
            rank == facts.ranks.end() ? facts.hosts.end() : facts.hosts.find(rank->second.node);
        if (host != facts.hosts.end()) run.late_node = host->second;
    }
    return run;
}

}  // namespace

Result<void> add_run_evidence(RunFolder const& run, doctor::Evidence& evidence) {
    OSORA_TRY(auto const facts, read_facts(run));
    for (auto const& [index, host] : facts.hosts) {
        auto& node = node_named(evidence, host);
        add_versions(node, facts.node_facts.at(index));
        auto const at = static_cast<std::size_t>(index);
        auto const& health = facts.view.node_health;
        if (index < 0 || at >= health.size() || !health[at]) continue;
        auto const xids = facts.xids.find(index);
        node.gpus.clear();
        add_health(node, *health[at],
                   xids == facts.xids.end() ? std::map<int, std::vector<int>>() : xids->second);
    }
    for (auto const& [rank, started] : facts.ranks) {
        auto const host = facts.hosts.find(started.node);
        if (host == facts.hosts.end()) continue;
        auto& node = node_named(evidence, host->second);
        add_versions(node, started.facts);
        add_settings(node, started.facts);
        if (!started.cpus.empty()) node.rank_cpus[rank] = started.cpus;
    }
    // Includes logs of ranks that failed before they reported their start.
    int const ranks = facts.view.nodes * std::max(facts.view.ranks_per_node, 1);
    for (int rank = 0; rank < ranks; ++rank) {
        auto const host = facts.hosts.find(rank / std::max(facts.view.ranks_per_node, 1));
        if (host == facts.hosts.end()) continue;
        add_log(node_named(evidence, host->second), run.paths.rank_log(facts.attempt, rank));
    }
    evidence.run = run_evidence(facts);
    return {};
}

}  // namespace osora::cli
