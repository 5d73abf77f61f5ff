// An agent as a process: the part of the shell around AgentCore, with its connection and its
// workers.
#pragma once

#include "daemon/agent/agent_core.hpp"
#include "tests/sim/world.hpp"

#include <deque>
#include <memory>

namespace osora::sim {

class Cluster;

class AgentProcess {
public:
    AgentProcess(Cluster& cluster, int pid, int node, int agent_number);

    /// SIGKILL, or its own exit: its workers end with it.
    void end(int exit_code, int signal);
    void freeze(Time until);
    void handle(daemon::AgentInput input);
    void connected(int connection);
    void disconnected(int connection);
    void heard(int connection, protocol::ToAgent const& message);

    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] int node() const { return node_; }
    [[nodiscard]] int agent_number() const { return attempt_; }
    [[nodiscard]] int incarnation() const { return incarnation_; }
    [[nodiscard]] bool frozen() const;
    [[nodiscard]] bool connected() const { return connection_ >= 0; }
    /// No worker may live after this: the lease and the time to kill are over.
    [[nodiscard]] Time workers_end() const;

private:
    [[nodiscard]] daemon::Now now() const;
    void take(daemon::AgentActions actions);
    void carry_out(daemon::AgentAction const& action);
    void bind_store(int attempt);
    void sample_health();
    void connect_later(Time delay);
    void set_timer();

    Cluster& cluster_;
    int pid_, node_, attempt_, incarnation_;
    std::unique_ptr<daemon::AgentCore> core_;
    std::deque<daemon::AgentInput> backlog_;  // while it is frozen
    Time clock_start_{}, frozen_until_{}, last_word_{};
    Time backoff_ = std::chrono::milliseconds(50);
    int connection_ = -1;
    std::uint64_t timer_ = 0;
    bool ended_ = false;
};

}  // namespace osora::sim
