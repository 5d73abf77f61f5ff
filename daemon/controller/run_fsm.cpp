#include "daemon/controller/run_fsm.hpp"

namespace osora::daemon {

using protocol::RunState;
using protocol::StopHow;
using protocol::StopMode;

Goal goal_of(protocol::RunStatus const& run) {
    switch (run.state) {
        case RunState::submitted:
        case RunState::checked:
        case RunState::allocating:
            return Goal::gather;
        case RunState::launching:
            return run.ordered ? Goal::start_workers : Goal::order_launch;
        case RunState::running:
            return Goal::watch;
        case RunState::relaunching:
            return all_stopped(run) ? Goal::gather : Goal::stop_workers;
        case RunState::finishing:
            return all_stopped(run) ? Goal::end_run : Goal::stop_workers;
        case RunState::done:
            return Goal::dismiss;
    }
    return Goal::dismiss;
}

StopHow stop_how(protocol::RunStatus const& run) {
    bool const graceful =
        run.asked_to_save || (run.state == RunState::finishing && run.stop == StopMode::graceful);
    return graceful ? StopHow::checkpoint : StopHow::terminate;
}

bool wants_agents(protocol::RunStatus const& run) {
    return run.state != RunState::finishing && run.state != RunState::done;
}

}  // namespace osora::daemon
