// What the controller core asks of its shell.
#pragma once

#include "protocol/journal/run_events.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace osora::daemon {

// Actions, performed in order. Each is idempotent.
/// Append to the journal. With `sync` later actions wait until the record is durable. Records may
/// be written ahead of the actions between them, so that one sync serves all that are queued; after
/// a failure everything that is queued is dropped and JournalFailed is the next input.
struct AppendRecord {
    protocol::JournalRecord record;
    bool sync = true;
};
struct SendToAgent {
    int connection = 0;
    protocol::ToAgent message;
    bool waits =
        true;  // false: may overtake records that are not durable yet (Welcome, HeartbeatAck)
};
struct CloseConnection {  // after what was sent on it
    int connection = 0;
    std::string why;
    bool waits = true;  // likewise; false: of a stranger, who may hang up before the disk is done
};
/// Backend: start the agent of `node`; its end is always reported as AgentExited.
struct StartAgent {
    int node = 0;
    int agent_number = 1;  // of the node's agents; each incarnation of the controller begins higher
};
/// Backend: end the agent of `node` (SIGKILL; its workers die with it) and report AgentExited, also
/// when there is none. The identity is that of the agent that joined last, pid 0 = none did;
/// agent_number 0 = an earlier incarnation started it.
struct StopAgent {
    int node = 0;
    int agent_number = 0;
    std::string boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
};
/// Backend: the host of `node` has a hardware fault; the node's next agent belongs elsewhere, if a
/// host is free.
struct BlameHost {
    int node = 0;
    std::string fault;     // "uncorrectable ECC error encountered"
    bool counted = false;  // an earlier incarnation of the controller blamed it for this one
};
struct Finish {  // the controller process exits
    int exit_code = 0;
    std::string message;  // for its log
};
using ControllerAction = std::variant<AppendRecord, SendToAgent, CloseConnection, StartAgent,
                                      StopAgent, BlameHost, Finish>;
using ControllerActions = std::vector<ControllerAction>;

}  // namespace osora::daemon
