#include "daemon/backends/host_faults.hpp"

#include "base/env.hpp"
#include "protocol/node_memory_file.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {

OnHostFault fault_recorder(std::filesystem::path const& run_dir, Logger& log) {
    return [state = protocol::RunPaths{run_dir}.state(), &log](protocol::HostFault const& fault) {
        RealEnv const clock;
        auto const done = protocol::remember_fault(state, fault, clock.wall_us());
        if (done.has_error()) {
            log.warning("cannot record node fault", {{"why", done.error().message}});
        }
    };
}

void report_fault(protocol::HostFault const& fault, OnHostFault const& on_fault, Logger& log) {
    log.warning("host failed", {{"host", fault.host}, {"cause", fault.cause}});
    if (on_fault) on_fault(fault);
}

}  // namespace osora::daemon
