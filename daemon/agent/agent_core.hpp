// The agent of one node, sans-io: starts and stops the node's workers as the controller orders,
// reports their ends at once and their metrics once a second, and stops them when its lease runs
// out. Driven by the agent shell and by the simulation.
#pragma once

#include "daemon/agent/report_queue.hpp"
#include "daemon/clock.hpp"
#include "daemon/steps/step_text.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace osora::daemon {

using std::chrono_literals::operator""s;

struct AgentOptions {
    int node = 0, agent_number = 0;  // as in AgentStart
    std::string token;
    std::string host, boot_id;  // of this agent
    int pid = 0;
    std::int64_t start_ticks = 0;
    bool exec = false;  // workers do not talk to the agent, but may report steps
    std::map<std::string, std::string> facts;
    MonotonicTime heartbeat = 1s;
    MonotonicTime lease = 5s;        // controller silent for so long: stop the workers
    MonotonicTime join_limit = 60s;  // never welcomed for so long: exit
    MonotonicTime linger = 0s;       // no workers and no controller for so long: exit
    MonotonicTime kill_grace = 3s;   // from SIGTERM (or StopWorker, at the lease's end) to SIGKILL
    MonotonicTime reap_limit = 2s;   // from SIGKILL until a process counts as orphaned
    MonotonicTime relaunch_reap_limit = 60s;  // before a relaunch: drivers and disks may be slow
    MonotonicTime health_every = 10s, health_first = 10s;  // first: from the welcome
};

// Inputs.
struct ControllerConnected {};
struct ControllerDisconnected {};  // the shell reconnects, with backoff
struct ControllerDied {};          // and no other takes over: little is left of the lease
struct ControllerSaid {
    protocol::ToAgent message;
};
/// Answer to BindStore.
struct StoreBound {
    int attempt = 0;
    int port = 0;
    std::string error;  // why there is no port; then port is 0
    std::string host;   // how other nodes reach it
};
/// Answer to SpawnWorkers, one for each rank.
struct WorkerSpawned {
    int attempt = 0, rank = 0;
    int pid = 0;
    std::string error;  // why it could not be started; then pid is 0 and no WorkerExited follows
    std::string cpus = {};  // that the rank is bound to, as Linux writes lists; "": not bound
};
/// Comes before the WorkerSpawned of an attempt whose ranks may run on any core.
struct RanksNotBound {
    int attempt = 0;
    std::string why;
};
struct WorkerSaid {
    int attempt = 0, rank = 0;
    protocol::FromWorker message;
};
/// A rank of an exec job reported a step (exec_steps.hpp).
struct WorkerStepped {
    int attempt = 0, rank = 0;
    SaidStep step;
};
/// The process was reaped; all of its messages were delivered before this.
struct WorkerExited {
    int attempt = 0, rank = 0;
    int exit_code = 0, signal = 0;
    bool oom_killed = false;  // the cgroup's oom_kill count rose
    /// Both come from the output of a worker that failed; "" = none.
    std::string last_line = {};
    std::string tail = {};  // the last lines
};
/// Answer to TakeStacksOf.
struct StacksReady {
    int attempt = 0;
    std::vector<protocol::RankState> ranks;
};
struct HealthSampled {            // answer to SampleHealth
    protocol::NodeHealth sample;  // the core sets node, number and why
};
struct AgentTick {};  // next_deadline() has come
using AgentInput =
    std::variant<ControllerConnected, ControllerDisconnected, ControllerDied, ControllerSaid,
                 StoreBound, WorkerSpawned, RanksNotBound, WorkerSaid, WorkerStepped, StepsLeftOut,
                 OutputRead, WorkerExited, StacksReady, HealthSampled, AgentTick>;

/// Exit codes of an agent: the controller refused it; it gave up because it had no controller.
constexpr int kAgentRefused = 3, kAgentUnreachable = 4;

// Actions, carried out in order.
struct SendToController {  // dropped when not connected: the core sends it again
    protocol::FromAgent message;
};
struct BindStore {  // and keep the socket for rank 0 of `attempt`; closes those of older attempts
    int attempt = 0;
};
/// Fork one worker for each of ranks [first_rank, first_rank + local_world_size). Rank 0 gets the
/// bound store socket.
struct SpawnWorkers {
    protocol::LaunchWorkers launch;
};
struct SendToWorkers {  // every living worker
    protocol::StopWorker message;
};
struct SignalWorkers {  // every living worker and its process group
    int signal = 0;
};
struct TakeStacksOf {  // every living worker of `attempt`
    int attempt = 0;
    double limit_s = 4;  // how long the controller waits
};
struct SampleHealth {};  // not requested again before it was answered
struct ExitAgent {
    int exit_code = 0;
    std::string message;  // for its log
};
using AgentAction = std::variant<SendToController, BindStore, SpawnWorkers, SendToWorkers,
                                 SignalWorkers, TakeStacksOf, SampleHealth, ExitAgent>;
using AgentActions = std::vector<AgentAction>;

class AgentCore {
public:
    /// `spill` must outlive this; without one everything waits in memory.
    AgentCore(AgentOptions options, Now now, Spill* spill = nullptr);
    ~AgentCore();
    AgentCore(AgentCore const&) = delete;
    AgentCore& operator=(AgentCore const&) = delete;
    [[nodiscard]] AgentActions handle(Now now, AgentInput const& input);

    /// When an AgentTick is due; kNever after ExitAgent. Read it again after each call.
    [[nodiscard]] MonotonicTime next_deadline() const;
    /// Workers that were spawned and not yet reaped.
    [[nodiscard]] int workers_alive() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::daemon
