// Agents as child processes on this machine. Private to shells (Asio inside).
#pragma once

#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/process/process.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/backends/backend.hpp"
#include "daemon/process/orphans.hpp"

#include <filesystem>
#include <map>

namespace osora::daemon {

struct LocalOptions {
    std::filesystem::path osorad;  // run as `osorad agent`
    Environment environment;       // of the agents and, through them, of the workers
    AgentStart start;              // `node` is filled in
    bool outlive = false;          // agents survive the controller
    std::function<std::vector<int>()> spared = nullptr;  // children that are no agents
    double stop_limit_s = 2;                             // for orphans of an ended agent
    double lease_end_s = 9;  // an agent that ends with its controller has ended by then
};

class LocalBackend final : public Backend {
public:
    LocalBackend(LocalOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited);

    void set_address(AgentAddress const& address) override;
    void start_agent(StartAgent const& order) override;
    void stop_agent(StopAgent const& order) override;

private:
    boost::asio::awaitable<void> watch(int node, int agent_number, Child child);
    boost::asio::awaitable<void> end_stranger(StopAgent order);
    boost::asio::awaitable<void> report(AgentExited exited);
    [[nodiscard]] Result<Child> spawn_agent(StartAgent const& order) const;
    [[nodiscard]] std::vector<int> living() const;
    [[nodiscard]] OrphanScope orphans_of(int node) const;

    LocalOptions options_;
    TaskGroup& tasks_;
    Logger& log_;
    OnExited on_exited_;
    std::map<int, ProcessId> agents_;  // by node
};

}  // namespace osora::daemon
