// Connections between agents and the controller: bytes arrive in order and late, or the connection
// breaks; a partition holds everything back, even the news of a break.
#pragma once

#include "protocol/messages/agent_messages.hpp"
#include "tests/sim/world.hpp"

#include <map>
#include <vector>

namespace osora::sim {

class Cluster;

class Network {
public:
    explicit Network(Cluster& cluster);

    /// Connects an agent by its pid; false when nobody listens or nothing gets through.
    bool connect(int agent_pid);
    void to_controller(int connection, protocol::FromAgent const& message);
    void to_agent(int connection, protocol::ToAgent const& message);
    /// Ends a connection after everything that was sent on it.
    void close_by_controller(int connection);
    /// A process has ended: its connections end, sometimes before the bytes that it had sent.
    void agent_died(int agent_pid);
    void controller_died();
    /// Breaks the connection of `node` at once.
    void reset(int node);
    void cut(int node, Time until, bool backend_too);

    [[nodiscard]] bool is_cut(int node) const;
    /// When the backend can act on `node`.
    [[nodiscard]] Time backend_clear(int node) const;

private:
    struct Link {
        int node = 0, agent_pid = 0, incarnation = 0;
        bool open = true;
        Time agent_floor{}, controller_floor{};  // no later message arrives before these
    };
    [[nodiscard]] Time arrival(int node, Time& floor);
    void tell_agent(int connection, Time when);
    void tell_controller(int connection, Time when);

    Cluster& cluster_;
    std::map<int, Link> links_;
    int last_connection_ = 0;
    std::vector<Time> cut_until_, backend_cut_until_;  // by node
};

}  // namespace osora::sim
