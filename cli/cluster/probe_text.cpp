#include "cli/cluster/probe_text.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "topology/collectives/collective.hpp"
#include "topology/probe/probe_analysis.hpp"
#include "topology/probe/probe_summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::cli {
namespace {

using topology::NodeScore;
using topology::ProbeFinding;
using topology::ProbeResult;

constexpr int kProbeNameColumns = 9;
constexpr std::size_t kNodesInMatrix = 64;

std::string line(std::string_view name, std::string_view text, int columns) {
    std::string const body = filled(text, kProbeNameColumns, columns);
    return fmt::format("{:<{}}", name, kProbeNameColumns) + body.substr(kProbeNameColumns);
}

std::string fault_line(ProbeFinding const& finding, int columns) {
    std::string const word = finding.kind == "node_lost"        ? "LOST"
                             : finding.kind == "oversubscribed" ? "WARN"
                             : finding.kind == "slow_network"   ? "WARN"
                                                                : "SLOW";
    if (finding.where.size() < kProbeNameColumns) {
        return line(finding.where, fmt::format("{}  {}", word, finding.evidence), columns);
    }
    return line("", fmt::format("{}  {}: {}", word, finding.where, finding.evidence), columns);
}

std::string storage_line(ProbeResult const& result) {
    std::vector<double> alone, all, opens;
    for (auto const& each : result.storage) {
        (each.alone ? alone : all).push_back(each.read_bytes_per_s);
        opens.push_back(each.open_us);
    }
    std::string text = fmt::format("{}/s by one node alone",
                                   format_bytes(static_cast<std::int64_t>(median(alone))));
    if (all.size() > 1) {
        text += fmt::format(", {}/s each by {} at once",
                            format_bytes(static_cast<std::int64_t>(median(all))), all.size());
    }
    return text + fmt::format("; open {}", format_seconds(median(opens) / 1e6));
}

/// "gloo     all_reduce of 1 MiB: 2 nodes 9.1 ms, 4 nodes 14 ms", for the smallest and the largest
/// size that all groups have.
std::string collective_lines(ProbeResult const& result, int columns) {
    std::map<std::int64_t, std::map<std::pair<int, int>, std::vector<double>>> times;
    for (auto const& each : result.collectives) {
        if (each.collective != "all_reduce") continue;
        times[each.size_bytes][{each.nodes, each.ranks}].push_back(each.time_us);
    }
    if (times.empty()) return "";
    auto const most = times.begin()->second.size();
    auto largest = times.begin();
    for (auto at = times.begin(); at != times.end(); ++at) {
        if (at->second.size() >= most) largest = at;
    }
    std::string text;
    for (auto const* each : {&*times.begin(), &*largest}) {
        std::vector<std::string> groups;
        for (auto const& [shape, values] : each->second) {
            auto const [nodes, ranks] = shape;
            std::string const who = ranks == nodes ? fmt::format("{} nodes", nodes)
                                                   : topology::describe({ranks, nodes});
            groups.push_back(who + " " + format_seconds(median(values) * 1e-6));
        }
        text += line(
            result.collectives.front().backend,
            fmt::format("all_reduce of {}: {}", format_bytes(each->first), fmt::join(groups, ", ")),
            columns);
        if (largest == times.begin()) break;
    }
    return text;
}

/// "9" for 0.9 of the median and more.
char digit_of(double share) {
    return static_cast<char>('0' + std::clamp(static_cast<int>(share * 10 + 0.05), 0, 9));
}

std::vector<std::string> bad_nodes(ProbeResult const& result) {
    std::vector<std::string> names;
    for (std::size_t node = 0; node < result.scores.size(); ++node) {
        if (result.scores[node].bad) names.push_back(result.nodes[node]);
    }
    return names;
}

}  // namespace

std::string probe_matrix(ProbeResult const& result) {
    std::size_t const count = result.nodes.size();
    if (count < 3 || result.median_gbit_s <= 0) return "";
    auto const leaves = topology::leaves_of(result.leaves);
    bool const by_leaf = count > kNodesInMatrix;
    std::size_t const rows = by_leaf ? static_cast<std::size_t>(leaves.count()) : count;
    if (rows < 2 || rows > kNodesInMatrix) return "";
    std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> cells;
    for (auto const& each : topology::pair_rates(result.pairs, static_cast<int>(count))) {
        if (!each.network.empty()) continue;
        bool const shared = each.stage == topology::ProbeStage::leaf_all;
        if (shared != by_leaf) continue;
        auto const place = [&](int node) {
            auto const index = static_cast<std::size_t>(node);
            return by_leaf ? static_cast<std::size_t>(leaves.of_node[index]) : index;
        };
        cells[{place(each.a), place(each.b)}].push_back(each.gbit_s / result.median_gbit_s);
        cells[{place(each.b), place(each.a)}].push_back(each.gbit_s / result.median_gbit_s);
    }
    if (cells.empty()) return "";
    std::string text;
    for (std::size_t row = 0; row < rows; ++row) {
        std::string marks;
        for (std::size_t column = 0; column < rows; ++column) {
            auto const cell = cells.find({row, column});
            marks += row == column         ? ' '
                     : cell == cells.end() ? '.'
                                           : digit_of(median(cell->second));
        }
        std::string const& name = by_leaf ? leaves.names[row] : result.nodes[row];
        while (marks.ends_with(' ')) marks.pop_back();
        text += fmt::format("{:<8.8} {}\n", name, marks);
    }
    return text + fmt::format("{:<8} tenths of the median; . not measured\n", "");
}

bool has_fault(ProbeResult const& result) {
    return std::ranges::any_of(result.findings, [](ProbeFinding const& each) {
        return each.kind != "oversubscribed" && each.kind != "slow_network";
    });
}

std::string render_probe(ProbeResult const& result, ProbeText const& how) {
    std::string text = line("probe", topology::probe_summary(result, how.seconds, 0), how.columns);
    for (auto const& finding : result.findings) text += fault_line(finding, how.columns);
    text += collective_lines(result, how.columns);
    if (!result.storage.empty()) text += line("storage", storage_line(result), how.columns);
    for (auto const& warning : result.warnings) text += line("note", warning, how.columns);
    if (auto const matrix = probe_matrix(result); !matrix.empty()) text += "\n" + matrix;
    if (auto const bad = bad_nodes(result); !bad.empty()) {
        text += fmt::format("\nnext: leave {} out: --set 'faults.exclude_nodes=[\"{}\"]'\n",
                            bad.size() == 1 ? "it" : "them", fmt::join(bad, "\",\""));
    }
    return text;
}

}  // namespace osora::cli
