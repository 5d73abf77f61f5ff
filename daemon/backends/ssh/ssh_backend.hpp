// Agents on the hosts of [ssh], one each. An agent outlives its ssh connection: the connection
// starts it and reports its end; when it breaks, the agent's own link to the controller says
// whether the agent lives. Private to shells (Asio inside).
#pragma once

#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/backends/backend.hpp"
#include "daemon/backends/host_faults.hpp"
#include "daemon/backends/ssh/gate.hpp"
#include "daemon/backends/ssh/remote_commands.hpp"

#include <deque>
#include <optional>
#include <variant>
#include <vector>

namespace osora::daemon {

struct SshOptions {
    std::vector<plan::SshHost> hosts;  // of node 0, 1..., then the spares
    int nodes = 1;                     // of the run
    SshLogin login;
    std::filesystem::path osorad;  // the path there, too; copied when it is missing
    AgentStart start;              // node and log are set later
    int connections_max = 32;      // connections being made at the same time
    OnHostFault on_fault;
    // For a host that was part of the run and does not answer. patience: for a new agent to start;
    // sweep_patience: for the end of its last agent to be confirmed (one node of several). Both end
    // early when the controller no longer wants them.
    std::chrono::seconds patience{10}, sweep_patience{5};
};

class SshBackend final : public Backend {
public:
    SshBackend(SshOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited);

    void set_address(AgentAddress const& address) override;
    void start_agent(StartAgent const& order) override;
    void stop_agent(StopAgent const& order) override;
    void blame_host(BlameHost const& order) override;

private:
    struct AgentEnded {
        int agent_number = 0;
        SshCommand::End end;
    };
    using Order = std::variant<StartAgent, StopAgent, AgentEnded>;
    struct Node {
        plan::SshHost host;
        std::deque<Order> orders;
        bool busy = false;
        SharedCommand starting;  // an agent that has not announced itself yet
        SharedCommand agent;     // an agent that has, while the connection holds
        AgentAnnounced who;
        std::optional<SweepOrder> unswept;  // an agent that may live on a host without answer
        bool copied = false;                // the node runs the copy of osorad
        bool blamed = false;                // a spare takes the host's place when one is free
        bool silent = false;                // its silence was reported as a fault
    };

    void take(int node, Order order);
    asio::awaitable<void> work(int node);
    asio::awaitable<void> carry_out(int node, StartAgent order);
    asio::awaitable<void> carry_out(int node, StopAgent order);
    asio::awaitable<void> carry_out(int node, AgentEnded order);
    asio::awaitable<Result<void>> launch(int node, int agent_number);
    bool move_to_spare(int node);
    void fault(int node, int weight, std::string const& cause);
    void silent(int node, Error const& why);
    asio::awaitable<Result<void>> launch_once(int node, int agent_number);
    asio::awaitable<Result<void>> copy_program(int node);
    asio::awaitable<Result<int>> sweep(int node, SweepOrder order);
    asio::awaitable<void> watch(int node, int agent_number, SharedCommand command);
    asio::awaitable<bool> left_well(int node, int agent_number);
    void report(AgentExited exited);

    [[nodiscard]] Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
    [[nodiscard]] SharedCommand make_command(int node);
    [[nodiscard]] std::string text_for(Node const& node, std::string_view argument) const;
    [[nodiscard]] bool is_awaited(int node, std::size_t kind) const;

    SshOptions options_;
    TaskGroup& tasks_;
    Logger& log_;
    OnExited on_exited_;
    Gate gate_;
    std::vector<Node> nodes_;
    std::deque<plan::SshHost> spares_;  // without an agent
    std::string hash_;                  // of osorad; computed at first use
};

}  // namespace osora::daemon
