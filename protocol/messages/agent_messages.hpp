// Messages between the controller of a run and the agent of a node, over TCP (docs/rfc/002): frames
// of JSON with a "type". An agent's reports are the journal's own events; they are numbered, kept
// until they are acknowledged, and sent again after a reconnect.
#pragma once

#include "protocol/journal/run_events.hpp"
#include "protocol/messages/stack_messages.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::protocol {

constexpr int kAgentProtocol = 2;

// Agent to controller.
/// The first message of every connection; nothing else is sent before the Welcome.
struct AgentHello {
    static constexpr std::string_view kType = "hello";
    int protocol = kAgentProtocol;
    std::string token;  // of the run, 64 hex digits
    int node = 0;
    std::string host, boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    int attempt = -1;                // newest attempt that was started or stopped here; -1 = none
    int workers_left = 0;            // worker processes that live now
    std::uint64_t first_report = 0;  // number of the next report on this connection
    std::map<std::string, std::string> facts;
    int agent_number = 0;  // of the order that started it (StartAgent); 0 = not known
};
struct RankHeartbeat {
    int rank = 0;
    Phase phase = Phase::starting;
    int step = -1;              // last step that the rank completed in this attempt
    double silent_s = 0;        // since its last message
    double limit_s = 0;         // limit of its last PhaseChanged; 0 = the controller's default
    int arrived = -1;           // newest step in which it waits, or waited, for the others
    bool ignores_stop = false;  // it got a stop request, and continues step after step
};
/// Once a second.
struct Heartbeat {
    static constexpr std::string_view kType = "heartbeat";
    int attempt = -1;
    std::vector<RankHeartbeat> ranks;  // living; of `exec` jobs those that have reported a step
};
/// Answer to ReserveStore.
struct StoreReserved {
    static constexpr std::string_view kType = "store";
    int attempt = 0;
    std::string host;  // address for the other nodes
    int port = 0;
    std::string error;  // why there is no port; then port is 0
};
/// The first four are not reports.
using FromAgent =
    std::variant<AgentHello, Heartbeat, StoreReserved, StacksTaken, RankStarted, RankFailed,
                 NodeFinished, NodeStopped, CheckpointCompleted, RunNotice, MetricChunk, NodeHealth,
                 RankMatrix, ProbePart, CollectiveSums, EvaluationDone>;

template <class T>
inline constexpr bool is_report =
    !std::is_same_v<T, AgentHello> && !std::is_same_v<T, Heartbeat> &&
    !std::is_same_v<T, StoreReserved> && !std::is_same_v<T, StacksTaken>;

// Controller to agent. Any of them renews the agent's lease.
struct Welcome {
    static constexpr std::string_view kType = "welcome";
    int incarnation = 0;                    // ControllerStarted.incarnation
    bool health = false, matrices = false;  // the controller accepts NodeHealth, RankMatrix
    bool collectives = false;               // and CollectiveSums
};
/// Wrong token, version or node: the agent stops its workers and exits.
struct Refused {
    static constexpr std::string_view kType = "refused";
    std::string reason;
};
/// Answer to a Heartbeat.
struct HeartbeatAck {
    static constexpr std::string_view kType = "beat";
};
/// Reports with a number below `next` are in the journal.
struct AckReports {
    static constexpr std::string_view kType = "ack";
    std::uint64_t next = 0;
};
/// Node 0 only: bind a port for the store of `attempt` and keep it until the attempt is over.
struct ReserveStore {
    static constexpr std::string_view kType = "reserve_store";
    int attempt = 0;
};
struct LaunchWorkers {
    static constexpr std::string_view kType = "launch_workers";
    int attempt = 0;
    int world_size = 1, first_rank = 0, local_world_size = 1;
    std::string store_host;
    int store_port = 0;
};
enum class StopHow {
    checkpoint,  // StopWorker; `exec`: SIGTERM. No limit: the controller sends the next order
    terminate,   // SIGTERM, and SIGKILL after AgentOptions::kill_grace
    kill         // SIGKILL
};
BOOST_DESCRIBE_ENUM(StopHow, checkpoint, terminate, kill)
/// No worker of `attempt` or an older one may survive; answered by NodeStopped.
struct StopAttempt {
    static constexpr std::string_view kType = "stop_attempt";
    int attempt = 0;
    StopHow how = StopHow::terminate;
    std::string reason;
    bool relaunch = false;  // another attempt is to follow, so ranks that end slowly are waited for
};
/// The run is over: exit.
struct Dismiss {
    static constexpr std::string_view kType = "dismiss";
};
using ToAgent = std::variant<Welcome, Refused, HeartbeatAck, AckReports, ReserveStore,
                             LaunchWorkers, StopAttempt, TakeStacks, Dismiss>;

BOOST_DESCRIBE_STRUCT(AgentHello, (),
                      (protocol, token, node, host, boot_id, pid, start_ticks, attempt,
                       workers_left, first_report, facts, agent_number))
BOOST_DESCRIBE_STRUCT(RankHeartbeat, (),
                      (rank, phase, step, silent_s, limit_s, arrived, ignores_stop))
BOOST_DESCRIBE_STRUCT(Heartbeat, (), (attempt, ranks))
BOOST_DESCRIBE_STRUCT(StoreReserved, (), (attempt, host, port, error))
BOOST_DESCRIBE_STRUCT(Welcome, (), (incarnation, health, matrices, collectives))
BOOST_DESCRIBE_STRUCT(Refused, (), (reason))
BOOST_DESCRIBE_STRUCT(HeartbeatAck, (), ())
BOOST_DESCRIBE_STRUCT(AckReports, (), (next))
BOOST_DESCRIBE_STRUCT(ReserveStore, (), (attempt))
BOOST_DESCRIBE_STRUCT(LaunchWorkers, (),
                      (attempt, world_size, first_rank, local_world_size, store_host, store_port))
BOOST_DESCRIBE_STRUCT(StopAttempt, (), (attempt, how, reason, relaunch))
BOOST_DESCRIBE_STRUCT(Dismiss, (), ())

}  // namespace osora::protocol
