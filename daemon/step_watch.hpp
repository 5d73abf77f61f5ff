// Reads what the ranks of an exec job tell of their steps, while they write it: records on a pipe
// (OSORA_STEP_FD) and lines of their logs. The ranks write to the log files themselves, so nothing
// is lost or held up when this reader is. Driven by Workers. Private to shells (Asio inside).
#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "daemon/agent_core.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>

namespace osora::daemon {

class StepWatch {
public:
    using FindStep = std::function<std::optional<plan::StepFigures>(std::string_view line)>;
    using OnStep = std::function<void(WorkerStepped)>;

    /// `on_step` is never called from inside add().
    StepWatch(TaskGroup& tasks, Logger& log, OnStep on_step);
    ~StepWatch();
    StepWatch(StepWatch const&) = delete;
    StepWatch& operator=(StepWatch const&) = delete;

    struct Rank {
        int epoch = 0, rank = 0, pid = 0;
        Descriptor records;            // read end of its pipe
        std::filesystem::path output;  // its log, from the start
    };
    /// `find` reads lines of the output; empty: they are not looked at.
    void add(Rank rank, FindStep find);

    /// The rank has ended: reads what is left of it, then forgets it.
    void finish(int pid);

private:
    struct Followed;
    boost::asio::awaitable<void> follow_outputs();
    static boost::asio::awaitable<void> follow_records(std::shared_ptr<Followed> rank);
    void start_following();

    TaskGroup& tasks_;
    Logger& log_;
    OnStep on_step_;
    Descriptor changes_;                              // inotify; not open: the logs are polled
    std::map<int, std::shared_ptr<Followed>> ranks_;  // by pid
    bool following_ = false;
};

/// How lines of output are read for `[worker] step_pattern`; an empty function for "none".
[[nodiscard]] Result<StepWatch::FindStep> step_finder(std::string const& pattern);

}  // namespace osora::daemon
