// osora logs: what the ranks printed, with identical lines folded.
#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/exit_code.hpp"
#include "cli/journal_tail.hpp"
#include "cli/json_output.hpp"
#include "cli/log_files.hpp"
#include "cli/run_command.hpp"
#include "cli/run_file_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace osora::cli {
namespace {

struct LogRequest {
    KnownRun run;
    std::vector<int> ranks;
    int epoch = 0;
    bool newest_epoch = true;  // none was asked for: follow goes on with the next one
    bool follow = false;
    bool json = false;
};

std::string prefix(KnownRun const& run, std::vector<int> const& ranks) {
    if (ranks.size() > 1) return fmt::format("ranks {}", rank_list(ranks));
    auto const& view = run.view;
    int const node = ranks.front() / std::max(view.ranks_per_node, 1);
    auto const& nodes = view.status.nodes;
    bool const known = node < static_cast<int>(nodes.size()) &&
                       !nodes[static_cast<std::size_t>(node)].host.empty();
    return fmt::format(
        "{}:{}", known ? nodes[static_cast<std::size_t>(node)].host : fmt::format("n{}", node),
        ranks.front());
}

void show(LogRequest const& request, FoldedLine const& line) {
    if (request.json) {
        protocol::json::array ranks(line.ranks.begin(), line.ranks.end());
        print_json("log", {{"epoch", request.epoch}, {"ranks", ranks}, {"text", line.text}});
        return;
    }
    std::string text = line.text;  // tabs are welcome, cursor movements are not
    for (char& each : text) {
        if (each != '\t' && (static_cast<unsigned char>(each) < 0x20 || each == 0x7f)) each = '?';
    }
    fmt::print("{}: {}\n", prefix(request.run, line.ranks), text);
}

/// Until the run is over and everything that was written has been shown.
void follow_logs(LogRequest& request, LogFiles files) {
    constexpr auto kPause = std::chrono::milliseconds(200);
    constexpr int kAskEvery = 10;  // pauses between looks for the controller
    auto const& paths = request.run.folder.paths;
    JournalTail tail(paths.journal());
    protocol::RunView view;
    for (int round = 0;; ++round) {
        bool over = round % kAskEvery == kAskEvery - 1 && !has_controller(paths);
        while (true) {
            auto const records = tail.read();
            if (records.has_error()) over = true;
            if (records.has_error() || records->empty()) break;
            for (auto const& each : *records) apply(view, each);
        }
        over = over || is_over(view);
        files.drain(over, [&](FoldedLine const& line) { show(request, line); });
        std::fflush(stdout);
        auto const epochs = logged_epochs(paths);
        if (request.newest_epoch && !epochs.empty() && epochs.back() > request.epoch) {
            files.drain(true, [&](FoldedLine const& line) { show(request, line); });
            request.epoch = epochs.back();
            files = LogFiles(paths, request.epoch, request.ranks);
            continue;
        }
        if (over) return;
        std::this_thread::sleep_for(kPause);
    }
}

Result<LogRequest> request_of(Context const& context, Arguments const& arguments) {
    LogRequest request;
    OSORA_TRY(request.run, run_of(context, arguments));
    auto const& view = request.run.view;
    int const rank_count = std::max(view.nodes * view.ranks_per_node, 1);
    OSORA_TRY(auto const rank, arguments.number("--rank", 0, rank_count - 1));
    if (rank) {
        request.ranks = {*rank};
    } else {
        request.ranks.resize(static_cast<std::size_t>(rank_count));
        std::iota(request.ranks.begin(), request.ranks.end(), 0);
    }
    auto const epochs = logged_epochs(request.run.folder.paths);
    request.follow = arguments.has("--follow");
    request.json = arguments.has("--json");
    if (epochs.empty()) {
        if (request.follow && !is_over(view)) return request;
        return Error{Errc::not_found,
                     fmt::format("run {}: no rank has been started, so there are no logs",
                                 request.run.folder.number)};
    }
    OSORA_TRY(auto const epoch, arguments.number("--epoch", 0, epochs.back()));
    request.newest_epoch = !epoch.has_value();
    request.epoch = epoch.value_or(epochs.back());
    return request;
}

int run(Context const& context, Arguments const& arguments) {
    auto request = request_of(context, arguments);
    if (request.has_error()) {
        return fail(exit_code_for(request.error().code), request.error().message);
    }
    LogFiles files(request->run.folder.paths, request->epoch, request->ranks);
    if (request->follow && !is_over(request->run.view)) {
        follow_logs(*request, std::move(files));
        return kExitOk;
    }
    files.drain(true, [&](FoldedLine const& line) { show(*request, line); });
    if (!files.any_open()) {
        return fail(kExitUsage, fmt::format("run {}: no log of these ranks in epoch {}",
                                            request->run.folder.number, request->epoch));
    }
    return kExitOk;
}

}  // namespace

CommandSpec logs_command() {
    return {.name = "logs",
            .summary = "what the ranks printed, identical lines folded",
            .details =
                "Prints the output of every rank of the newest epoch (a relaunch starts a "
                "new one), each line behind node:rank. Lines that several ranks print alike "
                "are shown once, behind \"ranks 0-3\".",
            .example = "osora logs 42\nosora logs 42 --rank 3 --epoch 0\nosora logs 42 --follow",
            .positionals = {run_positional()},
            .options = {{.name = "--rank", .value = "R", .help = "Only this rank."},
                        {.name = "--epoch", .value = "E", .help = "An earlier epoch."},
                        {.name = "--follow",
                         .value = "",
                         .help = "Go on as the logs grow, until the run is over."},
                        json_option("Print one JSON object a line.")},
            .run = run};
}

}  // namespace osora::cli
