// osora nodes: nodes that failed runs lately, and until when new jobs leave them out.
#include "base/env.hpp"
#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/text/text_table.hpp"
#include "cli/text/wall_time.hpp"
#include "protocol/state_paths.hpp"
#include "slurm/node_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
namespace json = protocol::json;

constexpr std::int64_t kMemoryFileBytesMax = 4 << 20;

/// Worst first. Without the file: none.
Result<slurm::NodeMemory> read_memory(fs::path const& path, std::int64_t now_us) {
    auto const text = read_file(path, kMemoryFileBytesMax);
    if (text.has_error() && text.error().code == Errc::not_found) return slurm::NodeMemory{};
    if (text.has_error()) return text.error();
    auto memory = protocol::decode<slurm::NodeMemory>(*text);
    if (memory.has_error()) return std::move(memory).error().in(path.string());
    std::ranges::stable_sort(memory->nodes, std::greater(),
                             [now_us](auto const& each) { return slurm::score_at(each, now_us); });
    return std::move(*memory);
}

/// invalid_input: the node has no record.
Result<void> forget(fs::path const& path, std::string const& host, std::int64_t now_us) {
    std::error_code error;
    std::optional<FileLock> lock;
    if (fs::exists(path, error)) {
        OSORA_TRY(lock, FileLock::acquire(path.string() + ".lock"));
    }
    OSORA_TRY(auto memory, read_memory(path, now_us));
    bool const had =
        std::erase_if(memory.nodes, [&host](auto const& each) { return each.host == host; }) > 0;
    if (!had) {
        return Error{
            Errc::invalid_input,
            fmt::format("node {} has no recorded fault; osora nodes lists those that have", host)};
    }
    return write_file_atomic(path, protocol::encode(memory) + "\n", 0600);
}

json::object object_of(slurm::NodeRecord const& node, std::int64_t now_us) {
    std::int64_t const until_us = slurm::excluded_until_us(node);
    return {{"host", node.host},
            {"score", slurm::score_at(node, now_us)},
            {"last_fault_us", node.updated_us},
            {"cause", node.cause},
            {"excluded", until_us > now_us},
            {"excluded_until_us", until_us > now_us ? json::value(until_us) : json::value()}};
}

void print_table(slurm::NodeMemory const& memory, std::int64_t now_us) {
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
        std::int64_t const until_us = slurm::excluded_until_us(node);
        table.rows.push_back({text_cell(node.host), number_cell(slurm::score_at(node, now_us)),
                              text_cell(utc_text(node.updated_us).substr(0, 16)),
                              text_cell(until_us > now_us ? utc_text(until_us).substr(0, 16) : "-"),
                              text_cell(node.cause)});
    }
    cli::print("{}\n times are UTC; a node whose score is {} or more is left out of new jobs\n",
               draw_text(table), slurm::kTooMuch);
}

int run_nodes(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    auto const path = protocol::StatePaths{*state}.node_memory();
    std::int64_t const now_us = RealEnv().wall_us();
    if (auto const host = arguments.value("--forget")) {
        auto const done = forget(path, *host, now_us);
        if (done.has_error()) return fail(exit_code_for(done.error().code), done.error().message);
    }
    auto const memory = read_memory(path, now_us);
    if (memory.has_error()) return fail(exit_code_for(memory.error().code), memory.error().message);
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
                "Runs on Slurm record the faults of their nodes: a fault counts 1, a host that did "
                "not answer 2, and half as much a day later. New jobs leave a node out while its "
                "score is 1.5 or more, at most 50 nodes. --forget removes the record of a node "
                "that was repaired. faults.exclude_nodes of a run file always counts.",
            .example = "osora nodes\nosora nodes --forget n17",
            .positionals = {},
            .options = {{.name = "--forget",
                         .value = "NODE",
                         .help = "Remove the record of this node first."},
                        json_option()},
            .run = run_nodes};
}

}  // namespace osora::cli
