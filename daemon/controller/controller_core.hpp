// The controller of one run, sans-io: the shell feeds it inputs and performs the actions in order.
// Driven by daemon shells and by the simulation; holds no socket, file, clock or random device.
#pragma once

#include "daemon/clock.hpp"
#include "daemon/controller/controller_actions.hpp"
#include "protocol/messages/agent_messages.hpp"
#include "protocol/run_status.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace osora::daemon {

using std::chrono_literals::operator""s;

struct ControllerOptions {
    protocol::RunSubmitted submission;  // submission.json
    protocol::json::value plan;         // plan.json; goes into a fresh journal
    protocol::json::value probe = {};   // what was measured before the start; likewise
    double probed_s = 0;                // how long that took; 0: an older measurement was used
    std::string token;                  // that agents must present
    std::string host, boot_id;          // of this controller
    int pid = 0;
    std::uint64_t next_sequence = 0;  // JournalReader::next_sequence() after the replay
    bool resume = false;              // reopen a run that ended without success
    double step_timeout_s = 0;        // faults.step_timeout; 0 = max(60 s, 5 x the median step)
    /// Text on what ranks of an attempt recorded of their collectives; null or "": nothing.
    std::function<std::string(int attempt)> read_flights = nullptr;
    MonotonicTime lost_after = 4s;  // silence of an agent: faults.lost_after
    /// A step goes into the journal when all nodes have reported it, or so long after the first
    /// report; 0 = at once, for agents that end with their controller and cannot report it again.
    MonotonicTime steps_wait = 2s;
    MonotonicTime lease = 5s;        // the lease of its agents: faults.lease
    MonotonicTime join_limit = 60s;  // from StartAgent to its hello
    MonotonicTime adopt_limit = 6s;  // how long a new incarnation waits for agents of the last one
    MonotonicTime stop_limit = 60s;  // graceful stop that a user requested
    MonotonicTime exec_stop_limit = 8s;  // the same for a user program: SIGTERM
    MonotonicTime lifeline_limit = 8s;   // graceful stop because the attached osora went away
    MonotonicTime kill_limit = 6s;       // from "terminate" or "kill" to NodeStopped
    /// The same before a relaunch: longer than AgentOptions::kill_grace and relaunch_reap_limit.
    MonotonicTime relaunch_kill_limit = 66s;
    MonotonicTime stacks_limit = 4s;       // from TakeStacks until a hang is acted on: faults
    MonotonicTime agent_stop_limit = 10s;  // from StopAgent to AgentExited
    bool has_other_hosts = false;          // the backend may start a node's next agent elsewhere
};

// Inputs.
struct AgentConnected {
    int connection = 0;     // never reused by one controller
    std::string peer = {};  // its address
};
struct AgentSaid {
    int connection = 0;
    protocol::FromAgent message;
};
/// By either side, or after an invalid frame: the shell has closed it.
struct AgentDisconnected {
    int connection = 0;
};
/// The agent process of `node` has ended (or could not be started: `error`), and workers that
/// outlived it were searched for.
struct AgentExited {
    int node = 0;
    int agent_number = 0;  // of the StartAgent or StopAgent that it answers
    int exit_code = 0, signal = 0;
    int processes_left = 0;  // workers of the node that still live; -1 = not known
    std::string error;
};
struct StopAsked {  // control socket, stop.json, a signal
    bool now = false;
    std::string reason;
    bool by_user = true;  // false: a signal, of which others may pass on theirs
};
struct AskedRelaunch {  // control socket; changes nothing unless protocol::takes_relaunch()
    bool now = false;
    std::string user, reason;
};
struct ClientGone {};  // the attached osora has ended
/// A record could not be written: the disk is full. No decision is possible any more.
struct JournalFailed {
    std::string error;
};
struct Tick {};  // next_deadline() has come
using ControllerInput = std::variant<AgentConnected, AgentSaid, AgentDisconnected, AgentExited,
                                     StopAsked, AskedRelaunch, ClientGone, JournalFailed, Tick>;

class ControllerCore {
public:
    /// `replayed`: the whole journal, in order; empty for a new run.
    ControllerCore(ControllerOptions options, std::vector<protocol::JournalRecord> const& replayed);
    ~ControllerCore();
    ControllerCore(ControllerCore const&) = delete;
    ControllerCore& operator=(ControllerCore const&) = delete;

    /// Call it once, before anything else.
    [[nodiscard]] ControllerActions start(Now now);
    [[nodiscard]] ControllerActions handle(Now now, ControllerInput const& input);

    /// When a Tick is due; kNever after Finish. Read it again after each call.
    [[nodiscard]] MonotonicTime next_deadline() const;
    [[nodiscard]] protocol::RunStatus const& status() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace osora::daemon
