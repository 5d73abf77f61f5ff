// The worker processes of one node: starts them, receives their messages, ends them, and reports
// each end after all of the worker's messages. Driven by the agent. Private to shells (Asio
// inside). Use it from the main thread: workers get SIGKILL when the thread that forked them ends.
#pragma once

#include "base/log/log.hpp"
#include "base/process/process.hpp"
#include "base/secrets.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_core.hpp"
#include "daemon/agent/log_caps.hpp"
#include "daemon/agent/step_watch.hpp"
#include "daemon/agent/store_port.hpp"
#include "daemon/agent/worker_setup.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/node/rank_binding.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace osora::daemon {

struct WorkersOptions {
    std::filesystem::path run_dir;
    std::filesystem::path worker_program;
    std::string run_uuid;
    int node = 0;
    bool exec = false;
    Environment environment;
    std::string host = {};      // this node's name, as plans name nodes
    double orphan_limit_s = 2;  // for orphans of the last worker of an attempt
};

class Workers {
public:
    using OnInput = std::function<void(AgentInput)>;

    /// `on_input` takes WorkerSpawned, RanksNotBound, WorkerSaid, WorkerStepped,
    /// StepsLeftOut and WorkerExited; never called from inside a call of this class, except
    /// start().
    Workers(WorkersOptions options, TaskGroup& tasks, Logger& log, OnInput on_input);

    /// Reads job.json and starts the ranks of `launch`; answers WorkerSpawned for each. `store`:
    /// the bound socket for rank 0.
    void start(protocol::LaunchWorkers const& launch, std::optional<StorePort> store);
    void tell(protocol::StopWorker const& message);
    void signal(int signal);
    /// Writes down what each worker is doing, then answers StacksReady, within `limit_s`.
    void take_stacks(int attempt, double limit_s);

private:
    struct Worker {
        int attempt = 0, rank = 0;
        ProcessId id;
        std::shared_ptr<FrameConnection> link;  // none for `exec`
    };
    [[nodiscard]] std::vector<std::vector<int>> bind(plan::WorkerJob const& job,
                                                     protocol::LaunchWorkers const& launch);
    [[nodiscard]] Result<void> start_one(plan::WorkerJob const& job, WorkerPlace place,
                                         Descriptor const& store);
    [[nodiscard]] Descriptor open_log(int attempt, int rank);
    [[nodiscard]] std::string tail(Worker const& worker) const;
    boost::asio::awaitable<void> report_unlimited_logs();
    void watch_link(std::shared_ptr<Worker> const& worker, int fd);
    void hear(Worker const& worker, std::string const& frame);
    void link_broke(Worker const& worker, Error const& why);
    boost::asio::awaitable<void> watch(std::shared_ptr<Worker> worker, Child child);
    boost::asio::awaitable<void> take_stacks_of(int attempt, double limit_s);

    WorkersOptions options_;
    TaskGroup& tasks_;
    Logger& log_;
    OnInput on_input_;
    std::map<int, std::shared_ptr<Worker>> living_;  // by pid
    StepWatch steps_;                                // exec
    Redactor redactor_;                  // removes the run's secrets from failure messages
    std::string step_pattern_ = "none";  // exec: of the run
    std::int64_t log_bytes_ = 0;         // faults.log_mib; 0: no cap
    bool limits_logs_ = false;
    LogCaps log_caps_;
    long oom_kills_ = 0;
    std::optional<NodeCores> cores_;  // read when first needed
};

}  // namespace osora::daemon
