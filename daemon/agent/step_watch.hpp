// Reads the steps that the ranks of an exec job report while they run: records on a pipe
// (OSORA_STEP_FD) and lines of their logs. The ranks write to the log files themselves, so a delay
// of this reader loses nothing and holds nothing up. Driven by Workers. Private to shells (Asio
// inside).
#pragma once

#include "base/files/descriptor.hpp"
#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_core.hpp"
#include "daemon/steps/step_intake.hpp"

#include <boost/asio/steady_timer.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace osora::daemon {

class StepWatch {
public:
    /// WorkerStepped, StepsLeftOut, OutputRead.
    using OnInput = std::function<void(AgentInput)>;

    /// `on_input` is never called from inside add().
    StepWatch(TaskGroup& tasks, Logger& log, OnInput on_input);
    ~StepWatch();
    StepWatch(StepWatch const&) = delete;
    StepWatch& operator=(StepWatch const&) = delete;

    struct Rank {
        int attempt = 0, rank = 0, pid = 0;
        Descriptor records;            // read end of its pipe
        std::filesystem::path output;  // its log, from the start
    };
    void add(Rank rank, StepIntake::Finder finder);

    /// The rank has ended: reads the rest of its output, as far as it would have been read, a
    /// little in each turn of the loop; then forgets the rank. `pid` may already belong to another
    /// process.
    [[nodiscard]] boost::asio::awaitable<void> finish(int pid);

private:
    struct Followed;
    boost::asio::awaitable<void> follow();
    boost::asio::awaitable<void> await_changes();
    boost::asio::awaitable<void> await_records(std::shared_ptr<Followed> rank);
    void start_following();
    bool look_once();
    void wake();
    void tell_left_out(Followed& rank);
    void tell_output(Followed& rank);

    TaskGroup& tasks_;
    Logger& log_;
    OnInput on_input_;
    Descriptor changes_;                              // inotify; not open: the logs are polled
    std::map<int, std::shared_ptr<Followed>> ranks_;  // by pid
    std::set<int> from_one_;                          // ranks that counted from 1 in an attempt
    boost::asio::steady_timer waiting_;
    std::size_t looks_ = 0;
    int finishing_ = 0;
    bool following_ = false, woken_ = false;
};

/// Reads lines of output as `[worker] step_pattern` says; an empty function for "none".
[[nodiscard]] Result<StepIntake::Finder> step_finder(std::string const& pattern);

}  // namespace osora::daemon
