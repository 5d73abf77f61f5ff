// Where agents run. A backend starts one agent for each node and reports when it has ended. Driven
// by the controller shell; errors travel as AgentExited.
#pragma once

#include "daemon/agent/agent_start.hpp"
#include "daemon/controller/controller_core.hpp"

#include <functional>

namespace osora::daemon {

class Backend {
public:
    /// Never called from inside start_agent() or stop_agent().
    using OnExited = std::function<void(AgentExited)>;

    virtual ~Backend() = default;
    /// The address at which agents find the controller; called once, before the first
    /// start_agent().
    virtual void set_address(AgentAddress const& address) = 0;
    /// One call for each node; the calls of one decision come in one turn of the loop, so that a
    /// backend may group them. Orders for a node run one after the other: no agent is started
    /// before its predecessor was ended, even when the controller has given up waiting for that.
    virtual void start_agent(StartAgent const& order) = 0;
    virtual void stop_agent(StopAgent const& order) = 0;
    /// Comes before the orders that follow from it. Nothing to do where a node has one host.
    virtual void blame_host(BlameHost const& order) { static_cast<void>(order); }
};

}  // namespace osora::daemon
