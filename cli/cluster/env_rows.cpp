// Compares planned values with those that ranks report, and merges ranks that agree.
#include "cli/cluster/env_rows.hpp"

#include "plan/nccl/setting_nodes.hpp"
#include "topology/assignment.hpp"
#include "topology/nccl/nccl_catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace osora::cli {
namespace {

using protocol::RankStarted;

constexpr std::array<std::string_view, 4> kOfOsora{
    "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"};

struct Ordered {
    std::string value, origin, reason;
};

std::map<std::string, Ordered> ordered_for(plan::WorkerJob const& job, std::string const& host) {
    std::map<std::string, Ordered> ordered;
    for (auto const& each : job.plan.nccl_env) {
        if (!plan::applies_to(each, host)) continue;
        ordered[each.name] = {each.value, each.origin, each.reason};
    }
    for (auto const& [name, value] : job.config.worker.env) {
        if (!topology::is_communication_variable(name)) continue;
        ordered[name] = {value, "run file: [worker] env", "set by you"};
    }
    return ordered;
}

std::string class_text(std::string_view name) {
    auto const* const variable = topology::find_variable(name);
    return variable == nullptr ? "" : std::string(1, topology::letter_of(variable->cls));
}

std::string reason_text(std::string_view name) {
    auto const* const variable = topology::find_variable(name);
    return variable == nullptr ? "not known; perhaps a plug-in's" : std::string(variable->reason);
}

EnvRow row_of(std::string const& name, std::string const* seen, Ordered const* ordered) {
    EnvRow row;
    row.name = name;
    row.cls = class_text(name);
    row.value = seen == nullptr ? "" : *seen;
    bool const as_ordered = ordered != nullptr && seen != nullptr && ordered->value == *seen;
    if (as_ordered) {
        row.origin = ordered->origin;
        row.reason = ordered->reason;
        return row;
    }
    bool const own = std::ranges::find(kOfOsora, name) != kOfOsora.end();
    row.origin = seen == nullptr ? "not set" : own ? "osora" : "inherited on the node";
    row.reason = reason_text(name);
    if (ordered != nullptr) row.ordered = ordered->value;
    return row;
}

/// All rows of a rank: the reported values, and the planned ones.
std::vector<EnvRow> rows_of_rank(RankStarted const& rank,
                                 std::map<std::string, Ordered> const& ordered) {
    std::set<std::string> names;
    for (auto const& [name, value] : rank.facts) {
        if (topology::is_communication_variable(name)) names.insert(name);
    }
    if (names.empty()) return {};  // a user program, or a worker that does not report its variables
    for (auto const& [name, each] : ordered) names.insert(name);
    std::vector<EnvRow> rows;
    for (std::string const& name : names) {
        auto const seen = rank.facts.find(name);
        auto const order = ordered.find(name);
        rows.push_back(row_of(name, seen == rank.facts.end() ? nullptr : &seen->second,
                              order == ordered.end() ? nullptr : &order->second));
    }
    return rows;
}

}  // namespace

void add_flight_recorder(std::vector<EnvRow>& rows) {
    constexpr std::array kValues{"2000", "1", "RUN_DIR/stacks/ATTEMPT/flight-",
                                 "RUN_DIR/stacks/ATTEMPT/flight-request-"};
    for (std::size_t i = 0; i < kOfOsora.size(); ++i) {
        std::string const name(kOfOsora[i]);
        if (std::ranges::find(rows, name, &EnvRow::name) != rows.end()) continue;
        rows.push_back({name,
                        kValues[i],
                        class_text(name),
                        "osora",
                        "the flight recorder, for a rank that hangs",
                        {}});
    }
    std::ranges::stable_sort(rows, {}, &EnvRow::name);
}

std::vector<EnvRow> effective_rows(plan::WorkerJob const& job,
                                   std::map<int, std::string> const& hosts,
                                   std::map<int, RankStarted> const& ranks) {
    struct Group {
        EnvRow row;
        std::vector<int> ranks;
        std::set<std::string> nodes;
    };
    using Key = std::tuple<bool, std::string, std::string, std::string, std::string>;
    std::map<Key, Group> groups;
    std::set<std::string> all_nodes;
    std::map<std::string, std::map<std::string, Ordered>> ordered;  // by host
    for (auto const& [number, rank] : ranks) {
        auto const found = hosts.find(rank.node);
        auto const host = found == hosts.end() ? fmt::format("node {}", rank.node) : found->second;
        if (all_nodes.insert(host).second) ordered[host] = ordered_for(job, host);
        for (EnvRow& row : rows_of_rank(rank, ordered[host])) {
            Key const key{row.ordered.empty(), row.name, row.value, row.origin, row.ordered};
            Group& group = groups[key];
            if (group.ranks.empty()) group.row = std::move(row);
            group.ranks.push_back(number);
            group.nodes.insert(host);
        }
    }
    std::vector<EnvRow> rows;
    for (auto& [key, group] : groups) {
        group.row.ranks = folded_ranks(group.ranks);
        if (group.nodes.size() < all_nodes.size()) {
            group.row.nodes.assign(group.nodes.begin(), group.nodes.end());
        }
        rows.push_back(std::move(group.row));
    }
    return rows;
}

std::string folded_ranks(std::vector<int> const& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
        if (last > i) text += fmt::format("-{}", ranks[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace osora::cli
