// Rules about versions: rows 18 and 19, drivers, combinations.
#include "base/host_list.hpp"
#include "topology/doctor/interface_names.hpp"
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace osora::topology::doctor {
namespace {

struct Mixed {
    std::string_view name, word;
    Severity severity;
    std::string_view effect;
    double impact;
};

constexpr std::array kMixed{
    Mixed{"nccl", "NCCL", Severity::fault, "ranks do not understand each other: hang or crash", 1},
    Mixed{"rccl", "RCCL", Severity::fault, "ranks do not understand each other: hang or crash", 1},
    Mixed{"net_plugin", "network plug-in", Severity::fault, "ranks connect differently: hang", 1},
    Mixed{"libtorch", "LibTorch", Severity::fault, "ranks do not understand each other", 1},
    Mixed{"colossalai", "ColossalAI", Severity::fault, "ranks run different code", 1},
    Mixed{"cuda", "CUDA", Severity::warning, "speeds and features differ over ranks", 0.3},
    Mixed{"driver", "NVIDIA driver", Severity::warning,
          "features differ over ranks; NCCL takes what all have", 0.3},
    Mixed{"ofed", "OFED", Severity::warning, "RDMA behaves differently over nodes", 0.2},
    Mixed{"ffmpeg", "FFmpeg", Severity::warning, "ranks may decode other pixels", 0.1},
    Mixed{"kernel", "kernel", Severity::info, "", 0},
};

bool any_versions(Evidence const& evidence, std::string const& name) {
    return std::ranges::any_of(evidence.nodes,
                               [&](auto const& node) { return !version_of(node, name).empty(); });
}

/// "2.14.3 on gpu-1; 2.19.3 on gpu-2": a few nodes by name, many as a number.
std::string versions_text(Evidence const& evidence, std::string const& name) {
    constexpr std::size_t kBytesNamed = 40;
    std::map<std::string, std::vector<std::string>> nodes;
    for (auto const& node : evidence.nodes) {
        if (auto const version = version_of(node, name); !version.empty()) {
            nodes[version].push_back(node.name);
        }
    }
    std::string text;
    for (auto const& [version, names] : nodes) {
        auto const folded = fold_hosts(names);
        text += fmt::format(
            "{}{} on {}", text.empty() ? "" : "; ", version,
            folded.size() <= kBytesNamed ? folded : fmt::format("{} nodes", names.size()));
    }
    return text;
}

void compare_one(Evidence const& evidence, Mixed const& mixed, Outcome& outcome) {
    std::map<std::string, std::size_t> counts;
    std::string const name(mixed.name);
    for (auto const& node : evidence.nodes) {
        if (auto const version = version_of(node, name); !version.empty()) ++counts[version];
    }
    if (counts.size() < 2) return;
    auto const usual =
        std::ranges::max_element(counts, {}, [](auto const& each) { return each.second; });
    std::size_t known = 0;
    for (auto const& [version, count] : counts) known += count;
    if (usual->second * 2 <= known) {
        outcome.findings.push_back(
            {.severity = mixed.severity,
             .title = fmt::format("Nodes have different versions of {}", mixed.word),
             .seen = versions_text(evidence, name),
             .effect = std::string(mixed.effect),
             .fix = mixed.severity == Severity::info ? "" : "bring all nodes to one version",
             .impact = mixed.impact});
        return;
    }
    for (auto const& node : evidence.nodes) {
        auto const version = version_of(node, name);
        if (version.empty() || version == usual->first) continue;
        outcome.findings.push_back(
            {.severity = mixed.severity,
             .nodes = {node.name},
             .title = fmt::format("{} {}, most nodes have {}", mixed.word, version, usual->first),
             .seen = fmt::format("{} of {} nodes have {}", usual->second, evidence.nodes.size(),
                                 usual->first),
             .effect = std::string(mixed.effect),
             .fix = mixed.severity == Severity::info
                        ? ""
                        : fmt::format("bring it to {}, or exclude it {}", usual->first, kExclude),
             .impact = mixed.impact});
    }
}

/// The plug-ins that NCCL's log says it loaded, on nodes whose log shows networks; nullopt: no log
/// shows it.
std::optional<std::string> plugins_of(NodeEvidence const& node) {
    auto const& log = node.log;
    if (log.plugins.empty() && log.networks.empty()) return {};
    return log.plugins.empty() ? "none" : fmt::format("{}", fmt::join(log.plugins, ", "));
}

void check_plugins(Evidence const& evidence, Outcome& outcome) {
    std::map<std::string, std::vector<std::string>> nodes;
    for (auto const& node : evidence.nodes) {
        if (auto const plugins = plugins_of(node)) nodes[*plugins].push_back(node.name);
    }
    if (nodes.size() < 2) return;
    auto const usual =
        std::ranges::max_element(nodes, {}, [](auto const& each) { return each.second.size(); });
    for (auto const& [plugins, names] : nodes) {
        if (plugins == usual->first) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = names,
             .title = fmt::format("Network plug-in {} here, {} on the other nodes", plugins,
                                  usual->first),
             .seen = "log: NET/Plugin: Loaded net plugin",
             .effect = "ranks of both kinds cannot connect to each other",
             .fix = "install the plug-in on all nodes or on none; it must fit NCCL's version",
             .impact = 0.9});
    }
}

/// A missing interface has a separate rule.
void check_bad_addresses(Evidence const& evidence, Outcome& outcome) {
    Outcome logged;
    find_trouble(logged, evidence, LogTrouble::bad_address,
                 {.severity = Severity::fault,
                  .title = "A peer's message was not understood when NCCL connected",
                  .effect = "the run fails or hangs at the start",
                  .fix = "compare NCCL's version in the log of every node: one of them most likely "
                         "has another",
                  .impact = 1});
    auto node = evidence.nodes.begin();  // findings are in the order of the nodes
    for (auto& each : logged.findings) {
        node =
            std::ranges::find(node, evidence.nodes.end(), each.nodes.front(), &NodeEvidence::name);
        if (!lacks_set_interface(*node)) outcome.findings.push_back(std::move(each));
    }
}

/// `word`: "NCCL"; `versions`: those that the ranks of the node wrote.
void check_one_library(NodeEvidence const& node, std::string_view word,
                       std::set<std::string> const& versions, Outcome& outcome) {
    if (versions.size() < 2) return;
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = {node.name},
         .title = fmt::format("Ranks of a node run different {}s", word),
         .seen = fmt::format("log: {}", fmt::join(versions, ", ")),
         .effect = "hang or crash when they connect",
         .fix = "one library for all: look at LD_LIBRARY_PATH, LD_PRELOAD and the image",
         .impact = 1});
}

}  // namespace

Outcome check_mixed_versions(Evidence const& evidence) {
    bool any = false;
    for (auto const& each : kMixed) any = any || any_versions(evidence, std::string(each.name));
    any = any || any_trouble(evidence, LogTrouble::bad_address) ||
          any_trouble(evidence, LogTrouble::version) ||
          std::ranges::any_of(evidence.nodes, [](auto const& node) {
              return node.log.versions.size() > 1 || node.log.rccl.size() > 1;
          });
    if (!any) return skip("no versions known");
    Outcome outcome;
    for (auto const& each : kMixed) compare_one(evidence, each, outcome);
    for (auto const& node : evidence.nodes) {
        check_one_library(node, "NCCL", node.log.versions, outcome);
        check_one_library(node, "RCCL", node.log.rccl, outcome);
    }
    check_plugins(evidence, outcome);
    bool const differ = std::ranges::any_of(
        outcome.findings, [](Finding const& each) { return each.severity == Severity::fault; });
    if (!differ) check_bad_addresses(evidence, outcome);
    find_trouble(outcome, evidence, LogTrouble::version,
                 {.severity = Severity::fault,
                  .title = "Versions do not fit together",
                  .effect = "the run fails at the start",
                  .fix = "one NCCL for all ranks, and a driver that its CUDA can use",
                  .impact = 1});
    return outcome;
}

namespace {

bool has_model(NodeEvidence const& node, std::string_view words) {
    if (words.empty()) return true;
    if (!has_gpus(node)) return false;
    while (!words.empty()) {
        std::size_t const end = std::min(words.find(' '), words.size());
        auto const word = words.substr(0, end);
        for (auto const& gpu : node.machine->gpus) {
            if (gpu.name.find(word) != std::string::npos) return true;
        }
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

}  // namespace

Outcome check_known_troubles(Evidence const& evidence) {
    if (!any_versions(evidence, "nccl") && !any_versions(evidence, "colossalai")) {
        return skip("NCCL's version not known");
    }
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (auto const& each : known_troubles()) {
            auto const version = version_of(node, std::string(each.name));
            bool const within = !version.empty() && compare_versions(version, each.first) >= 0 &&
                                compare_versions(version, each.last) <= 0;
            if (!within || !has_model(node, each.gpus)) continue;
            if (each.many_nodes && !many_nodes(evidence)) continue;
            Finding finding{
                .severity = each.note ? Severity::info : Severity::warning,
                .nodes = {node.name},
                .title = fmt::format("{} {} was slow for others",
                                     each.name == "nccl" ? "NCCL" : "ColossalAI", version),
                .seen = std::string(each.what),
                .effect = "perhaps here too: compare A/B on the same nodes",
                .fix = std::string(each.fix),
                .impact = each.note ? 0 : 0.4};
            for (auto rest = each.threads; !rest.empty();) {
                std::size_t const end = std::min(rest.find(' '), rest.size());
                finding.threads.emplace_back(rest.substr(0, end));
                rest.remove_prefix(std::min(end + 1, rest.size()));
            }
            outcome.findings.push_back(std::move(finding));
        }
    }
    return outcome;
}

Outcome check_driver(Evidence const& evidence) {
    bool any = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        auto const cuda = version_of(node, "cuda");
        auto const driver = version_of(node, "driver");
        if (cuda.empty() || driver.empty()) continue;
        any = true;
        auto const oldest = oldest_driver(cuda);
        if (!oldest || compare_versions(driver, *oldest) >= 0) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("Driver {} is too old for CUDA {}", driver, cuda),
             .seen =
                 fmt::format("programs built with CUDA {} need driver {} or later", cuda, *oldest),
             .effect = "no GPU can be used by them",
             .fix =
                 fmt::format("install driver {} or later, or a LibTorch of an older CUDA", *oldest),
             .threads = {"docs.nvidia.com/deploy/cuda-compatibility"},
             .impact = 1});
    }
    if (!any) return skip("driver or CUDA not known");
    return outcome;
}

namespace {

std::string combination_text(Versions const& versions) {
    std::string text;
    for (char const* name : {"cuda", "nccl", "libtorch", "colossalai", "ffmpeg"}) {
        auto const found = versions.find(name);
        if (found == versions.end() || found->second.empty()) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, found->second);
    }
    return text;
}

bool agrees(Versions const& versions, Versions const& proven) {
    int common = 0;
    for (char const* name :
         {"driver", "cuda", "nccl", "libtorch", "ofed", "colossalai", "ffmpeg"}) {
        auto const a = versions.find(name);
        auto const b = proven.find(name);
        if (a == versions.end() || b == proven.end()) continue;
        if (a->second != b->second) return false;
        ++common;
    }
    return common >= 2;
}

}  // namespace

Outcome check_combination(Evidence const& evidence) {
    bool any = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        Versions versions = node.versions;
        for (char const* name : {"nccl", "cuda"}) {
            if (auto const value = version_of(node, name); !value.empty()) versions[name] = value;
        }
        int const known = static_cast<int>(versions.contains("nccl")) +
                          static_cast<int>(versions.contains("libtorch")) +
                          static_cast<int>(versions.contains("colossalai"));
        if (known < 2) continue;
        any = true;
        bool const proven = std::ranges::any_of(
            evidence.proven, [&](Versions const& each) { return agrees(versions, each); });
        if (proven || find_combination(versions) != nullptr) continue;
        outcome.findings.push_back(
            {.severity = Severity::info,
             .nodes = {node.name},
             .title = "These versions are not known to have been tested together",
             .seen = combination_text(versions),
             .effect = "perhaps none",
             .fix =
                 "when something is odd, first try the versions that LibTorch was released with"});
    }
    if (!any) return skip("too few versions known");
    return outcome;
}

}  // namespace osora::topology::doctor
