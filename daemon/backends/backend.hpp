// Where agents run. A backend starts one agent for each node and says when it is gone. Driven by
// the controller shell; errors travel as AgentExited.
#pragma once

#include "daemon/controller_core.hpp"

#include <functional>

namespace osora::daemon {

class Backend {
public:
    using OnExited = std::function<void(AgentExited)>;

    virtual ~Backend() = default;
    virtual void start_agent(StartAgent const& order) = 0;
    virtual void stop_agent(StopAgent const& order) = 0;
};

}  // namespace osora::daemon
