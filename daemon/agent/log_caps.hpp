// The size limits of all logs of an agent, kept by a thread: to free a part of a file the kernel
// first writes what is dirty of it to the disk, which takes seconds when programs print much, and
// the agent must answer its controller meanwhile. Driven by Workers.
#pragma once

#include "daemon/agent/log_cap.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace osora::daemon {

class LogCaps {
public:
    using Hold = std::function<Result<void>(LogCap&)>;  // LogCap::hold(); tests: one that waits
    explicit LogCaps(Hold hold = [](LogCap& cap) { return cap.hold(); });
    /// Limits the logs once more. Waits a few seconds for a disk that does not answer.
    ~LogCaps();
    LogCaps(LogCaps const&) = delete;
    LogCaps& operator=(LogCaps const&) = delete;

    /// `pid`: of the process that writes the log. The first call starts the thread.
    void add(int pid, int rank, LogCap cap);
    /// The process has ended: its log is limited once more, and then left alone.
    void finish(int pid);

    struct Failure {
        int rank = 0;
        Error error;
    };
    /// Logs that could not be limited since the last call; each is reported once.
    [[nodiscard]] std::vector<Failure> take_failures();

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;  // the thread has it, too
};

}  // namespace osora::daemon
