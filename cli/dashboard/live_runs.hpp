// The runs in progress as events for browsers, from their journals. Driven by a timer; reads files.
#pragma once

#include "cli/run/follow/follow_text.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/runs.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::cli {

/// "event: run\ndata: {...}\n\n". Pure.
[[nodiscard]] std::string run_event(std::string const& id, std::string const& state,
                                    protocol::RunView const& view, std::string const& last_event);

class LiveRuns {
public:
    static constexpr std::chrono::seconds kLookEvery{2};  // for runs that have started

    explicit LiveRuns(std::filesystem::path state) : state_(std::move(state)) {}

    /// Events of runs whose journals have grown since the last call, at most one a run; of a run
    /// that ended, its last.
    [[nodiscard]] std::vector<std::string> poll();
    /// The newest event of each run in progress: for a reader that has just come.
    [[nodiscard]] std::vector<std::string> newest() const;

private:
    struct Followed {
        RunFolder folder;
        JournalTail tail;
        protocol::RunView view;
        EventText text{true};
        std::string last_event, newest;
        bool over = false;
    };
    void look();
    void read(Followed& run);

    std::filesystem::path state_;
    std::map<int, Followed> runs_;
    std::chrono::steady_clock::time_point looked_{};
};

}  // namespace osora::cli
