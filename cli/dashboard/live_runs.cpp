#include "cli/dashboard/live_runs.hpp"

#include "base/files/file_lock.hpp"
#include "base/text/text.hpp"
#include "cli/text/html.hpp"

#include <cmath>

namespace osora::cli {
namespace {

constexpr int kPiecesPerPoll = 4;  // of a long journal, each at most 4 MiB

/// Records that come many times a second, and say nothing that a person reads.
bool is_measurement(protocol::JournalRecord const& record) {
    return std::visit(
        []<class T>(T const&) {
            return std::is_same_v<T, protocol::MetricChunk> ||
                   std::is_same_v<T, protocol::MergedSteps> ||
                   std::is_same_v<T, protocol::ProbePart> ||
                   std::is_same_v<T, protocol::CollectiveSums> ||
                   std::is_same_v<T, protocol::RankMatrix> ||
                   std::is_same_v<T, protocol::NodeHealth>;
        },
        record.event);
}

std::string word_of_state(protocol::RunView const& view) {
    auto const& status = view.status;
    if (status.state != protocol::RunState::done) {
        return boost::describe::enum_to_string(status.state, "?");
    }
    return std::string("ended: ") + boost::describe::enum_to_string(status.verdict, "?");
}

}  // namespace

std::string run_event(std::string const& id, std::string const& state,
                      protocol::RunView const& view, std::string const& last_event) {
    auto const memory =
        view.peak_allocated_bytes > 0 ? view.peak_allocated_bytes : view.peak_rss_bytes;
    protocol::json::object const data{{"id", id},
                                      {"state", state},
                                      {"step", view.steps_done},
                                      {"steps", view.steps},
                                      {"step_time_s", protocol::to_json(view.step_time_s)},
                                      {"eta_s", protocol::to_json(view.eta_s)},
                                      {"throughput", protocol::to_json(view.samples_per_s)},
                                      {"memory", memory},
                                      {"exposed", protocol::to_json(view.exposed_comm_share)},
                                      {"last_event", clean_text(last_event)}};
    return "event: run\ndata: " + protocol::json::serialize(data) + "\n\n";
}

std::vector<std::string> LiveRuns::poll() {
    look();
    std::vector<std::string> events;
    for (auto at = runs_.begin(); at != runs_.end();) {
        auto& run = at->second;
        auto const before = run.newest;
        read(run);
        if (run.newest != before) events.push_back(run.newest);
        at = run.over ? runs_.erase(at) : std::next(at);
    }
    return events;
}

std::vector<std::string> LiveRuns::newest() const {
    std::vector<std::string> events;
    for (auto const& [number, run] : runs_) {
        if (!run.newest.empty()) events.push_back(run.newest);
    }
    return events;
}

void LiveRuns::look() {
    auto const now = std::chrono::steady_clock::now();
    if (looked_ != std::chrono::steady_clock::time_point{} && now - looked_ < kLookEvery) return;
    looked_ = now;
    auto const folders = list_runs(state_);
    if (folders.has_error()) return;  // the table of runs says why
    for (auto const& folder : *folders) {
        if (runs_.contains(folder.number) || !FileLock::is_held(folder.paths.lock())) continue;
        runs_.emplace(folder.number, Followed{.folder = folder,
                                              .tail = JournalTail(folder.paths.journal()),
                                              .view = {},
                                              .last_event = {},
                                              .newest = {}});
    }
}

void LiveRuns::read(Followed& run) {
    // Looked at before reading: if it is free, nothing can follow in the journal.
    bool const has_controller = FileLock::is_held(run.folder.paths.lock());
    bool caught_up = false;
    for (int piece = 0; piece < kPiecesPerPoll && !caught_up; ++piece) {
        auto const records = run.tail.read();
        caught_up = records.has_error() || records->empty();
        if (records.has_error()) run.last_event = records.error().message;
        run.over = run.over || records.has_error();
        if (caught_up) break;
        for (auto const& record : *records) {
            if (is_measurement(record)) {
                fold(run.view, record);
                continue;
            }
            auto const before = run.view;
            fold(run.view, record);
            auto const lines = run.text.lines(before, record, run.view);
            if (!lines.empty()) run.last_event = std::string(trimmed(lines.back()));
        }
    }
    if (!caught_up) return;  // an event of long ago would mislead
    auto state = word_of_state(run.view);
    if (!has_controller) {
        run.over = true;
        if (run.view.status.state != protocol::RunState::done) state = "controller_lost";
    }
    run.newest = run_event(std::to_string(run.folder.number), state, run.view, run.last_event);
}

}  // namespace osora::cli
