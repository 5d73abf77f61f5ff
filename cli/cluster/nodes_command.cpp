// osora nodes: nodes that failed runs lately, and until when new jobs leave them out.
#include "base/env.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/text_table.hpp"
#include "cli/text/wall_time.hpp"
#include "protocol/node_memory_file.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace osora::cli {
namespace {

namespace json = protocol::json;

/// invalid_input: the node has no record.
Result<void> forget(protocol::StatePaths const& state, std::string const& host) {
    OSORA_TRY(bool const had, protocol::forget_node(state, host));
    if (had) return {};
    return Error{
        Errc::invalid_input,
        fmt::format("node {} has no recorded fault; osora nodes lists those that have", host)};
}

json::object object_of(protocol::NodeRecord const& node, std::int64_t now_us) {
    std::int64_t const until_us = protocol::excluded_until_us(node);
    return {{"host", node.host},
            {"score", protocol::score_at(node, now_us)},
            {"last_fault_us", node.updated_us},
            {"cause", node.cause},
            {"excluded", until_us > now_us},
            {"excluded_until_us", until_us > now_us ? json::value(until_us) : json::value()}};
}

void print_table(protocol::NodeMemory const& memory, std::int64_t now_us) {
    if (memory.nodes.empty()) {
        cli::print("no node failed a run lately\n");
        return;
    }
    TextTable table;
    table.columns = {{"node", "node", false},
                     {"score", "score"},
                     {"last fault", "last_fault", false},
                     {"left out until", "excluded_until", false},
                     {"cause", "cause", false}};
    for (auto const& node : memory.nodes) {
        std::int64_t const until_us = protocol::excluded_until_us(node);
        table.rows.push_back({text_cell(node.host), number_cell(protocol::score_at(node, now_us)),
                              text_cell(utc_text(node.updated_us).substr(0, 16)),
                              text_cell(until_us > now_us ? utc_text(until_us).substr(0, 16) : "-"),
                              text_cell(node.cause)});
    }
    cli::print(
        "{}\n times are UTC; a node whose score is {} or more is left out of new Slurm jobs\n "
        "and used last by runs over ssh\n",
        draw_text(table), protocol::kTooMuch);
}

int run_nodes(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    protocol::StatePaths const paths{*state};
    std::int64_t const now_us = RealEnv().wall_us();
    if (auto const host = arguments.value("--forget")) {
        auto const done = forget(paths, *host);
        if (done.has_error()) return fail(done.error());
    }
    auto memory = protocol::read_node_memory(paths);
    if (memory.has_error()) return fail(memory.error());
    auto const score_of = [now_us](auto const& each) { return protocol::score_at(each, now_us); };
    std::ranges::stable_sort(memory->nodes, std::greater(), score_of);
    if (arguments.has("--json")) {
        json::array nodes;
        for (auto const& node : memory->nodes) nodes.push_back(object_of(node, now_us));
        print_json("nodes", {{"nodes", std::move(nodes)}});
    } else {
        print_table(*memory, now_us);
    }
    return kExitOk;
}

}  // namespace

CommandSpec nodes_command() {
    return {.name = "nodes",
            .summary = "nodes that failed runs lately, and until when jobs leave them out",
            .details =
                "Runs on Slurm and over ssh record the faults of their nodes: a fault counts 1, a "
                "host that did not answer 2, and half as much a day later. While the score of a "
                "node is 1.5 or more, new Slurm jobs leave it out, at most 50 nodes, and runs over "
                "ssh use it last. --forget removes the record of a node that was repaired. "
                "faults.exclude_nodes of a run file always counts.",
            .example = "osora nodes\nosora nodes --forget n17",
            .positionals = {},
            .options = {{.name = "--forget",
                         .value = "NODE",
                         .help = "Remove the record of this node first."},
                        json_option()},
            .run = run_nodes};
}

}  // namespace osora::cli
