#include "cli/run/follow/node_table.hpp"

#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::cli {
namespace {

using protocol::NodeView;
using protocol::RunView;

constexpr double kCommHigh = 0.2;  // share of the step; above it users ask for the reason

bool is_known(double value) {
    return std::isfinite(value) && value > 0;
}

std::string rank_range(RunView const& view, int node) {
    int const first = node * view.ranks_per_node;
    if (view.ranks_per_node == 1) return std::to_string(first);
    return fmt::format("{}-{}", first, first + view.ranks_per_node - 1);
}

int node_of(RunView const& view, int rank) {
    return rank / std::max(view.ranks_per_node, 1);
}

/// Nodes differ at the end of their names.
std::string shortened(std::string const& name) {
    constexpr std::size_t kColumns = 14;
    if (name.size() <= kColumns) return name;
    return ".." + name.substr(name.size() - (kColumns - 2));
}

/// "GPU 3: Xid 79", "GPU 3 slowed down", "GPU 3 at 88 C"; "" when the last record is normal.
std::string health_note(RunView const& view, int node) {
    auto const index = static_cast<std::size_t>(node);
    if (index >= view.node_health.size() || !view.node_health[index]) return "";
    std::string note;
    for (auto const& gpu : view.node_health[index]->gpus) {
        if (!gpu.xids.empty()) return fmt::format("GPU {}: Xid {}", gpu.gpu, gpu.xids.front());
        if (!note.empty()) continue;
        if ((gpu.throttle_reasons & protocol::kThrottleTrouble) != 0) {
            note = fmt::format("GPU {} slowed down", gpu.gpu);
        } else if (gpu.temperature_c >= protocol::kGpuHot_c) {
            note = fmt::format("GPU {} at {:.0f} C", gpu.gpu, gpu.temperature_c);
        }
    }
    return note;
}

/// What is unusual about a node; "" when nothing is.
std::string note_of(RunView const& view, int node) {
    auto const& status = view.status.nodes[static_cast<std::size_t>(node)];
    for (auto const& end : view.rank_ends) {
        if (end.attempt == view.status.attempt && end.node == node) {
            return fmt::format("rank {} failed", end.rank);
        }
    }
    if (!status.joined) return "no agent";
    if (status.finished) return "finished";
    if (view.straggler && node_of(view, view.straggler->rank) == node) {
        auto const health = health_note(view, node);
        return fmt::format("rank {} late{}", view.straggler->rank,
                           health.empty() ? "" : ", " + health);
    }
    return health_note(view, node);
}

std::vector<TableCell> row_of(RunView const& view, int node, TimeUnit const& unit) {
    NodeView const& each = view.node_views[static_cast<std::size_t>(node)];
    auto const time = [&](double seconds) {
        return is_known(seconds) ? seconds_cell(seconds, unit) : TableCell{"-", ""};
    };
    double const wait = each.exposed_comm_s / each.step_time_s;
    auto const bytes = std::max(each.peak_allocated_bytes, each.rss_bytes);  // of GPU or host
    return {text_cell(shortened(printable(node_name(view, node)))),
            text_cell(rank_range(view, node)),
            count_cell(each.steps_done),
            time(each.step_time_s),
            time(each.arrival_s),
            std::isfinite(wait) ? percent_cell(wait) : TableCell{"-", ""},
            text_cell(bytes > 0 ? format_bytes(bytes) : "-"),
            text_cell(note_of(view, node))};
}

/// Order: nodes with a note first, then by longest own work.
std::vector<int> order_of(RunView const& view) {
    std::vector<int> nodes(view.node_views.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::ranges::stable_sort(nodes, {}, [&](int node) {
        NodeView const& each = view.node_views[static_cast<std::size_t>(node)];
        double const own = is_known(each.arrival_s) ? each.arrival_s : each.step_time_s;
        return std::pair(note_of(view, node).empty(), is_known(own) ? -own : 0.0);
    });
    return nodes;
}

}  // namespace

std::string node_name(RunView const& view, int node) {
    auto const& nodes = view.status.nodes;
    bool const known = node >= 0 && node < static_cast<int>(nodes.size()) &&
                       !nodes[static_cast<std::size_t>(node)].host.empty();
    return known ? nodes[static_cast<std::size_t>(node)].host : fmt::format("node {}", node);
}

std::vector<std::string> node_lines(RunView const& view, TableRoom room) {
    bool const is_complete = std::ranges::any_of(
        view.node_views, [](NodeView const& each) { return each.steps_done > 0; });
    if (!is_complete || view.node_views.size() != view.status.nodes.size()) return {};
    std::vector<double> times;
    for (NodeView const& each : view.node_views) {
        if (is_known(each.step_time_s)) times.push_back(each.step_time_s);
    }
    TimeUnit const unit = time_unit(times);
    TextTable table{.columns = {{"node", "", false},
                                {"ranks", "", false},
                                {"step", ""},
                                {unit.name + "/step", ""},
                                {"own " + unit.name, ""},
                                {"wait", ""},
                                {"memory", ""},
                                {"", "", false}},
                    .rows = {}};
    auto nodes = order_of(view);
    std::size_t const all = nodes.size();
    auto const places = static_cast<std::size_t>(std::max(room.rows - 1, 1));
    if (all > places) nodes.resize(places > 1 ? places - 1 : 1);
    std::ranges::sort(nodes);
    for (int const node : nodes) table.rows.push_back(row_of(view, node, unit));
    std::vector<std::string> lines;
    std::string const text = draw_text(table);
    for (std::size_t at = 0; at < text.size();) {
        auto const end = text.find('\n', at);
        lines.push_back(clipped(text.substr(at, end - at), room.columns));
        at = end + 1;
    }
    if (nodes.size() < all) {
        lines.push_back(
            clipped(fmt::format(" and {} more nodes that work for less time",
                                format_count(static_cast<std::int64_t>(all - nodes.size()))),
                    room.columns));
    }
    return lines;
}

std::string arrival_line(RunView const& view) {
    if (view.straggler) {
        auto const& slow = *view.straggler;
        return fmt::format(
            "slow     rank {} on {} arrives {} ({:.0f} %) after the others, last in "
            "{} of {} steps",
            slow.rank, printable(node_name(view, node_of(view, slow.rank))),
            format_seconds(slow.late_s), 100 * slow.share, slow.steps, slow.of_steps);
    }
    double const comm = view.exposed_comm_share;
    bool const is_known = view.recent_steps.size() >= protocol::kStragglerSteps &&
                          view.recent_steps.back().arrivals.ranks > 1;
    if (!is_known || !(comm >= kCommHigh) || !(view.rank_wait_share < comm / 2)) return "";
    return fmt::format(
        "comm     {:.0f} % of the step, and all ranks arrive together: transfer, "
        "not a slow rank",
        100 * comm);
}

}  // namespace osora::cli
