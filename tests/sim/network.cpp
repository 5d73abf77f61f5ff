#include "tests/sim/network.hpp"

#include "tests/sim/cluster.hpp"

#include <algorithm>

namespace osora::sim {

Network::Network(Cluster& cluster)
    : cluster_(cluster),
      cut_until_(static_cast<std::size_t>(cluster.scenario.nodes)),
      backend_cut_until_(cut_until_) {}

bool Network::is_cut(int node) const {
    return cluster_.world.now() < cut_until_[static_cast<std::size_t>(node)];
}

Time Network::backend_clear(int node) const {
    return std::max(cluster_.world.now(), backend_cut_until_[static_cast<std::size_t>(node)]);
}

void Network::cut(int node, Time until, bool backend_too) {
    cut_until_[static_cast<std::size_t>(node)] = until;
    if (backend_too) backend_cut_until_[static_cast<std::size_t>(node)] = until;
}

Time Network::arrival(int node, Time& floor) {
    Time const clear = std::max(cluster_.world.now(), cut_until_[static_cast<std::size_t>(node)]);
    Time const delay = cluster_.world.between(100us, cluster_.scenario.network_delay_max);
    floor = std::max(floor, clear + delay);
    return floor;
}

bool Network::connect(int agent_pid) {
    AgentProcess* agent = cluster_.agent(agent_pid);
    if (agent == nullptr || is_cut(agent->node()) || !cluster_.controller.alive()) return false;
    int const id = ++last_connection_;
    links_[id] = {agent->node(), agent_pid, cluster_.controller.incarnation(), true, {}, {}};
    Link& link = links_[id];
    int const incarnation = link.incarnation;
    cluster_.world.at(arrival(link.node, link.controller_floor), [this, id, incarnation] {
        if (links_[id].open && cluster_.controller.incarnation() == incarnation) {
            cluster_.controller.handle(daemon::AgentConnected{id});
        }
    });
    agent->connected(id);
    return true;
}

void Network::to_controller(int connection, protocol::FromAgent const& message) {
    auto const found = links_.find(connection);
    if (found == links_.end() || !found->second.open) return;
    Link& link = found->second;
    int const incarnation = link.incarnation;
    cluster_.world.at(
        arrival(link.node, link.controller_floor), [this, connection, incarnation, message] {
            if (!links_[connection].open || cluster_.controller.incarnation() != incarnation)
                return;
            cluster_.controller.handle(daemon::AgentSaid{connection, message});
        });
}

void Network::to_agent(int connection, protocol::ToAgent const& message) {
    auto const found = links_.find(connection);
    if (found == links_.end() || !found->second.open) return;
    Link& link = found->second;
    cluster_.world.at(arrival(link.node, link.agent_floor), [this, connection, message] {
        Link const& mine = links_[connection];
        AgentProcess* agent = cluster_.agent(mine.agent_pid);
        if (mine.open && agent != nullptr) agent->heard(connection, message);
    });
}

void Network::tell_agent(int connection, Time when) {
    cluster_.world.at(when, [this, connection] {
        AgentProcess* agent = cluster_.agent(links_[connection].agent_pid);
        links_[connection].open = false;
        if (agent != nullptr) agent->disconnected(connection);
    });
}

void Network::tell_controller(int connection, Time when) {
    int const incarnation = links_[connection].incarnation;
    cluster_.world.at(when, [this, connection, incarnation] {
        links_[connection].open = false;
        if (cluster_.controller.incarnation() == incarnation) {
            cluster_.controller.handle(daemon::AgentDisconnected{connection});
        }
    });
}

void Network::close_by_controller(int connection) {
    auto const found = links_.find(connection);
    if (found == links_.end() || !found->second.open) return;
    tell_agent(connection, arrival(found->second.node, found->second.agent_floor));
}

void Network::agent_died(int agent_pid) {
    for (auto& [id, link] : links_) {
        if (link.agent_pid != agent_pid || !link.open) continue;
        bool const lost = cluster_.world.chance(30);
        if (lost) link.controller_floor = {};
        tell_controller(id, arrival(link.node, link.controller_floor));
    }
}

void Network::controller_died() {
    for (auto& [id, link] : links_) {
        if (!link.open) continue;
        if (cluster_.world.chance(30)) link.agent_floor = {};
        tell_agent(id, arrival(link.node, link.agent_floor));
    }
}

void Network::reset(int node) {
    for (auto& [id, link] : links_) {
        if (link.node != node || !link.open) continue;
        link.open = false;
        Time agent_floor{}, controller_floor{};
        tell_agent(id, arrival(node, agent_floor));
        tell_controller(id, arrival(node, controller_floor));
    }
}

}  // namespace osora::sim
