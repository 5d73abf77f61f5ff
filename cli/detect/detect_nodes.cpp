// Nodes that became slower, as text for 80 columns and as JSON.
#include "base/text/shell_word.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/detect/detect_levels.hpp"
#include "cli/detect/detect_render.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/wall_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace osora::cli {
namespace {

using db::analysis::NodeDrift;
using db::analysis::NodeDriftReport;
namespace json = protocol::json;
using protocol::to_json;

constexpr std::size_t kShownNodes = 20, kNamed = 3;
constexpr int kNodeNameColumns = 14;

std::string rates_text(NodeDrift const& drift) {
    bool const network = drift.path.empty();
    double const per = network ? 8e-9 : 1.0 / static_cast<double>(kGiB);
    return fmt::format("{} -> {} {}", three_digits(drift.rate_before * per),
                       three_digits(drift.rate_after * per), network ? "Gbit/s" : "GiB/s");
}

std::vector<std::string> hosts_of(std::vector<NodeDrift> const& drifts) {
    std::vector<std::string> hosts;
    std::set<std::string> seen;
    for (auto const& each : drifts) {
        if (seen.insert(each.host).second) hosts.push_back(each.host);
    }
    return hosts;
}

std::string headline(NodeDriftReport const& report) {
    std::string const looked =
        fmt::format("{} in {}", counted(report.nodes, "node"), counted(report.probes, "probe"));
    if (!report.decided()) {
        return fmt::format("undecided: no node is in {} probes with 3 others or more",
                           db::analysis::changepoint::values_needed({}));
    }
    if (report.drifted.empty()) return "no node became slower: " + looked;
    auto const hosts = hosts_of(report.drifted);
    if (hosts.size() > kNamed) {
        return fmt::format("{} became slower, {} first; {}",
                           counted(static_cast<int>(hosts.size()), "node"), hosts.front(), looked);
    }
    std::vector<std::string> parts;
    for (auto const& host : hosts) {
        auto const drift = std::ranges::find(report.drifted, host, &NodeDrift::host);
        parts.push_back(fmt::format("{} since probe {}", host, drift->since_run));
    }
    return fmt::format("slower: {}; {}", fmt::join(parts, ", "), looked);
}

/// A leaf where at least half of the nodes became slower to reach.
std::string leaf_text(NodeDriftReport const& report) {
    std::map<std::string, std::set<std::string>> slow;
    for (auto const& each : report.drifted) {
        if (each.path.empty()) slow[each.leaf].insert(each.host);
    }
    std::string text;
    for (auto const& [leaf, hosts] : slow) {
        auto const all = report.leaf_nodes.find(leaf);
        auto const count = static_cast<int>(hosts.size());
        if (all == report.leaf_nodes.end() || count < 2 || 2 * count < all->second) continue;
        text += labelled("leaf", fmt::format("{} of the {} nodes of {}: its switch or uplink may "
                                             "be what became slower",
                                             count, all->second, leaf));
    }
    return text;
}

TextTable drift_table(std::vector<NodeDrift> const& drifts) {
    TextTable table;
    table.columns = {{"node", "node", false},    {"since", "since_run"},  {"on", "since", false},
                     {"probes", "probes_since"}, {"of median", "median"}, {"", "rate"}};
    for (std::size_t i = 0; i < drifts.size() && i < kShownNodes; ++i) {
        auto const& each = drifts[i];
        table.rows.push_back(
            {text_cell(clipped(printable(each.host), kNodeNameColumns)), count_cell(each.since_run),
             text_cell(utc_text(each.since_us).substr(0, 10)), count_cell(each.probes_since),
             text_cell(fmt::format("{:.2f} -> {:.2f}", each.before, each.after)),
             text_cell(rates_text(each))});
    }
    return table;
}

std::string left_out(NodeDriftReport const& report) {
    std::vector<std::string> parts;
    if (report.nodes_few > 0) {
        parts.push_back(fmt::format("{} with too few probes", counted(report.nodes_few, "node")));
    }
    if (report.nodes_gone > 0) {
        parts.push_back(
            fmt::format("{} not probed for a month", counted(report.nodes_gone, "node")));
    }
    if (report.probes_small > 0) {
        parts.push_back(
            fmt::format("{} of fewer than 4 nodes", counted(report.probes_small, "probe")));
    }
    return parts.empty() ? "" : labelled("left out", fmt::format("{}", fmt::join(parts, ", ")));
}

json::object drift_object(NodeDrift const& drift) {
    return {{"host", drift.host},
            {"leaf", drift.leaf},
            {"measure", drift.path.empty() ? "network" : "storage"},
            {"path", drift.path},
            {"since_run", drift.since_run},
            {"since_us", drift.since_us ? json::value(*drift.since_us) : json::value()},
            {"before", to_json(drift.before)},
            {"after", to_json(drift.after)},
            {"effect", to_json(drift.effect())},
            {"before_bytes_per_s", to_json(drift.rate_before)},
            {"after_bytes_per_s", to_json(drift.rate_after)},
            {"probes_before", drift.probes_before},
            {"probes_since", drift.probes_since},
            {"p", to_json(drift.p)},
            {"adjusted_p", to_json(drift.adjusted_p)}};
}

json::array drift_array(std::vector<NodeDrift> const& drifts) {
    json::array array;
    for (auto const& each : drifts) array.push_back(drift_object(each));
    return array;
}

}  // namespace

std::string detect_text(NodeDriftReport const& report) {
    std::string text = filled(printable(headline(report)), 0, kDetectColumns);
    if (!report.drifted.empty()) {
        text += "\n" + draw_text(drift_table(report.drifted)) + "\n" + leaf_text(report);
        if (report.drifted.size() > kShownNodes) {
            text += labelled("rows", fmt::format("{} of {}; --json has all", kShownNodes,
                                                 report.drifted.size()));
        }
    }
    if (!report.chance.empty()) {
        text += labelled("chance",
                         fmt::format("{} more lower than before, as expected by chance among "
                                     "{} series",
                                     counted(static_cast<int>(report.chance.size()), "series"),
                                     format_count(report.series)));
    }
    text += left_out(report);
    if (!report.drifted.empty()) {
        auto hosts = hosts_of(report.drifted);
        bool const all = hosts.size() <= kNamed;
        hosts.resize(std::min(hosts.size(), kNamed));
        text += labelled(
            "next", fmt::format("osora doctor on {}{}; keep runs off them: --set "
                                "faults.exclude_nodes={}",
                                fmt::join(hosts, ", "), all ? "" : ", ...",
                                shell_word(fmt::format("[\"{}\"]", fmt::join(hosts, "\",\"")))));
    }
    return text;
}

json::object detect_json(NodeDriftReport const& report) {
    return {{"finding", to_json(finding_of(report))},
            {"nodes", report.nodes},
            {"probes", report.probes},
            {"series_tested", report.series},
            {"drifted", drift_array(report.drifted)},
            {"chance", drift_array(report.chance)},
            {"left_out", json::object{{"nodes_with_few_probes", report.nodes_few},
                                      {"nodes_gone", report.nodes_gone},
                                      {"small_probes", report.probes_small}}}};
}

db::analysis::Finding finding_of(NodeDriftReport const& report) {
    using db::analysis::Finding;
    if (!report.drifted.empty()) return Finding::bad;
    return report.decided() ? Finding::good : Finding::undecided;
}

}  // namespace osora::cli
