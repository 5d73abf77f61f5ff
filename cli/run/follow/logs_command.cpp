// osora logs: the output of the ranks, with identical lines folded.
#include "base/text/printable.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/follow/log_files.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "protocol/notice_kinds.hpp"

#include "base/host_name.hpp"

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
    int attempt = 0;
    bool newest_attempt = true;  // no attempt was named: follow continues with the next one
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
        print_json("log", {{"attempt", request.attempt}, {"ranks", ranks}, {"text", line.text}});
        return;
    }
    cli::print("{}: {}\n", prefix(request.run, line.ranks), printable(line.text, "\t"));
}

/// The rank that failed first in the attempt: the cause and the end of its log, before the logs of
/// all. The journal has that end, in case the file is gone or on another machine.
bool show_first_failure(LogRequest const& request) {
    constexpr std::size_t kLines = 20;
    auto const& failures = request.run.view.first_failures;
    auto const found = failures.find(request.attempt);
    if (found == failures.end() || request.ranks.size() < 2) return false;
    auto const& end = found->second;
    auto lines = last_lines(request.run.folder.paths.rank_log(end.attempt, end.rank), kLines);
    if (lines.empty()) lines = last_lines_of(end.tail, kLines);
    if (request.json) {
        protocol::json::array tail;
        for (auto const& each : lines) tail.emplace_back(protocol::bytes_to_json(each));
        print_json("first_failure", {{"attempt", end.attempt},
                                     {"node", end.node},
                                     {"rank", end.rank},
                                     {"cause", end.cause},
                                     {"tail", tail}});
        return true;
    }
    cli::print("first to fail: {}\n", printable(end.cause));
    for (auto const& each : lines) {
        cli::print("{}: {}\n", prefix(request.run, {end.rank}), printable(each, "\t"));
    }
    cli::print("all ranks of attempt {}:\n", request.attempt);
    return true;
}

/// For people, who would miss these ranks in the output.
void show_silent_ranks(LogRequest const& request, LogFiles const& files) {
    auto const text = silent_ranks_text(request.run.folder.paths, request.attempt, files.silent());
    if (!text.empty() && !request.json) cli::print(stderr, "note: {}\n", printable(text));
}

/// Whether the run is over, and no job that waits continues it.
bool has_ended(RunFolder const& run, protocol::RunView const& view) {
    return is_over(view) && !awaits_next_job(run, view);
}

/// Whether another machine has the run's controller, or will have it: this one then cannot tell
/// whether it lives.
bool runs_elsewhere(RunFolder const& run, protocol::RunView const& view) {
    bool const begun = !view.controller_host.empty() && !is_over(view);
    if (begun) return view.controller_host != host_name();
    auto const record = read_job_record(run.paths);
    return record && !record->cancelled;
}

/// Whether nobody writes to the logs any more, although the run is not over in its journal. Looks
/// only once in many rounds, at Slurm in fewer.
bool is_abandoned(Context const& context, RunFolder const& run, protocol::RunView const& view,
                  int round) {
    constexpr int kAskEvery = 10, kAskSlurmEvery = 150, kFirstAsk = 4;
    bool const asks = round % kAskEvery == kAskEvery - 1;
    bool const asks_slurm = round % kAskSlurmEvery == kFirstAsk;
    if (!asks && !asks_slurm) return false;
    if (!runs_elsewhere(run, view)) return asks && !has_controller(run.paths);
    return asks_slurm &&
           JobStatusQuery(context, run.paths.state().dir).of(run).place == JobPlace::gone;
}

/// Runs until the run is over and all output was shown.
void follow_logs(Context const& context, LogRequest& request, LogFiles files) {
    constexpr auto kPause = std::chrono::milliseconds(200);
    auto const& paths = request.run.folder.paths;
    JournalTail tail(paths.journal());
    protocol::RunView view;
    for (int round = 0;; ++round) {
        bool over = is_abandoned(context, request.run.folder, view, round);
        while (true) {
            auto const records = tail.read();
            if (records.has_error()) over = true;
            if (records.has_error() || records->empty()) break;
            for (auto const& each : *records) fold(view, each);
        }
        over = over || has_ended(request.run.folder, view);
        files.drain(over, [&](FoldedLine const& line) { show(request, line); });
        std::fflush(stdout);
        auto const attempts = logged_attempts(paths);
        if (request.newest_attempt && !attempts.empty() && attempts.back() > request.attempt) {
            files.drain(true, [&](FoldedLine const& line) { show(request, line); });
            request.attempt = attempts.back();
            files = LogFiles(paths, request.attempt, request.ranks);
            continue;
        }
        if (over) {
            show_silent_ranks(request, files);
            auto const end = view.first_failures.find(request.attempt);
            if (end == view.first_failures.end() || request.json) return;
            cli::print("first to fail: {}\n", printable(end->second.cause));
            return;
        }
        std::this_thread::sleep_for(kPause);
    }
}

void show_failed_notifications(protocol::RunView const& view) {
    for (auto const& each : view.notices) {
        if (each.kind != protocol::kNotificationFailed) continue;
        cli::print(stderr, "osora: {}\n", printable(each.detail));
    }
}

Result<LogRequest> request_of(Context const& context, Arguments const& arguments) {
    LogRequest request;
    OSORA_TRY(request.run, run_of(context, arguments, Imported::taken));
    auto const& view = request.run.view;
    int const rank_count = std::max(view.nodes * view.ranks_per_node, 1);
    OSORA_TRY(auto const rank, arguments.number("--rank", 0, rank_count - 1));
    if (rank) {
        request.ranks = {*rank};
    } else {
        request.ranks.resize(static_cast<std::size_t>(rank_count));
        std::iota(request.ranks.begin(), request.ranks.end(), 0);
    }
    auto const attempts = logged_attempts(request.run.folder.paths);
    request.follow = arguments.has("--follow");
    request.json = arguments.has("--json");
    if (attempts.empty()) {
        if (request.follow && !has_ended(request.run.folder, view)) return request;
        return Error{Errc::not_found,
                     fmt::format("run {}: no rank has been started, so there are no logs",
                                 request.run.folder.number)};
    }
    OSORA_TRY(auto const attempt, arguments.number("--attempt", 0, attempts.back()));
    request.newest_attempt = !attempt.has_value();
    request.attempt = attempt.value_or(attempts.back());
    return request;
}

int run_logs(Context const& context, Arguments const& arguments) {
    auto request = request_of(context, arguments);
    if (request.has_error()) {
        return fail(request.error());
    }
    LogFiles files(request->run.folder.paths, request->attempt, request->ranks);
    if (request->follow && !has_ended(request->run.folder, request->run.view)) {
        follow_logs(context, *request, std::move(files));
        return kExitOk;
    }
    bool const failed = show_first_failure(*request);
    files.drain(true, [&](FoldedLine const& line) { show(*request, line); });
    if (!files.any_open() && !failed) {
        return fail(kExitUsage, fmt::format("run {}: no log of these ranks in attempt {}",
                                            request->run.folder.number, request->attempt));
    }
    show_silent_ranks(*request, files);
    show_failed_notifications(request->run.view);
    return kExitOk;
}

}  // namespace

CommandSpec logs_command() {
    return {
        .name = "logs",
        .summary = "what the ranks printed, identical lines folded",
        .details =
            "Prints the output of every rank of the newest attempt (a relaunch starts a "
            "new one), each line behind node:rank. Lines that several ranks print alike "
            "are shown once, behind \"ranks 0-3\". When a rank has failed in that attempt, the "
            "end of the log of the first one that did comes first. Ranks that have written nothing "
            "are named on stderr, and so are notifications that could not be sent.",
        .example = "osora logs 42\nosora logs 42 --rank 3 --attempt 0\nosora logs 42 --follow",
        .positionals = {run_positional()},
        .options = {{.name = "--rank", .value = "R", .help = "Only this rank."},
                    {.name = "--attempt", .value = "N", .help = "An earlier attempt."},
                    {.name = "--follow",
                     .value = "",
                     .help = "Go on as the logs grow, until the run is over."},
                    json_option("Print one JSON object a line.")},
        .run = run_logs};
}

}  // namespace osora::cli
