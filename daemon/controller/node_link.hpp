// Private to the controller core: what it knows of a node's agent and has requested of it.
#pragma once

#include "daemon/clock.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::daemon {

struct AgentIdentity {
    std::string boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    friend bool operator==(AgentIdentity const&, AgentIdentity const&) = default;
};

/// What a controller knows of the agent process of a node.
enum class AgentProcess {
    none,
    unknown,   // of an earlier incarnation; may come back
    starting,  // StartAgent was sent, no hello yet
    up,        // joined; connected, or expected to reconnect
    stopping   // StopAgent was sent, not confirmed yet
};

/// What a StopAttempt says.
struct StopOrder {
    protocol::StopHow how = protocol::StopHow::terminate;
    bool relaunch = false;
    friend bool operator==(StopOrder const&, StopOrder const&) = default;
};

/// How many notices of one kind a rank may still have recorded.
struct NoticeAllowance {
    MonotonicTime paid{};  // allowance used up to here
    std::int64_t left_out = 0;
};

struct NodeLink {
    AgentProcess process = AgentProcess::none;
    MonotonicTime process_deadline = kNever;  // unknown, starting, stopping
    int agent_number = 0;
    AgentIdentity identity;               // of the agent that is up or being stopped
    std::vector<AgentIdentity> given_up;  // agents that were replaced: never accepted again
    int connection = -1;                  // welcomed; -1 = none
    std::uint64_t next_report = 0;        // number of the next one on this connection
    std::uint64_t taken = 0;              // reports of this agent below it were taken
    struct Chunk {
        std::uint64_t report = 0;
        int next_step = 0;  // after it
    };
    std::deque<Chunk> unwritten;     // of those, chunks whose steps are not in the journal yet
    std::uint64_t acknowledged = 0;  // on this connection
    int launched = -1;               // newest attempt that the agent has or was sent
    int store_asked = -1;            // attempt
    std::optional<StopOrder> stop_sent;
    MonotonicTime stop_deadline = kNever;  // after it the agent is ended
    bool dismissed = false;
    int blamed = -2;         // newest attempt after which BlameHost was sent
    int blamed_before = -2;  // likewise, by an earlier incarnation
    protocol::Heartbeat heartbeat;
    int next_step = 0;         // metrics below it were taken
    int next_matrix_step = 0;  // matrices below it are in the journal
    int next_collectives = 0;  // number of the first CollectiveSums that is not in the journal
    std::int64_t health_number = -1;  // newest NodeHealth of this agent in the journal
    MonotonicTime health_paid{};      // the allowance for them is used up to here
    using NoticesOf = std::pair<int, std::string>;  // rank and kind
    std::map<NoticesOf, NoticeAllowance> notices;
};

}  // namespace osora::daemon
