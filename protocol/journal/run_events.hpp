// What happens to a run: the events of its journal (docs/rfc/001). Only decisions are events;
// replaying them through daemon/controller/run_fsm gives the run's state. Measurements change none.
#pragma once

#include "protocol/journal/stop_events.hpp"
#include "protocol/json.hpp"
#include "protocol/messages/worker_messages.hpp"
#include "protocol/node_health.hpp"
#include "protocol/steps/merged_steps.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::protocol {

struct RunSubmitted {
    static constexpr std::string_view kType = "submitted";
    std::string run_uuid, run_name, job, user, host, base_dir;
    int number = 0;  // "osora report 42"
    int nodes = 1, ranks_per_node = 1, restarts_max = 3, steps = 0;
    std::int64_t clips = 0;                    // job = "score": rows of the list; 0: not known
    bool attached = true;                      // ends with the osora that started it
    std::map<std::string, std::string> facts;  // fingerprint: versions, commit, cpu, kernel
    json::value config, origins;               // plan::RunConfig, resolved; plan::Origins
    std::int64_t submitted_us = 0;             // when the user submitted it; 0: not known
};
struct PlanChosen {
    static constexpr std::string_view kType = "plan";
    json::value plan;  // plan::PlanDecision
};
/// A controller took over the run and its agents; after a RunEnded it reopens it (osora resume).
struct ControllerStarted {
    static constexpr std::string_view kType = "controller";
    std::string host, boot_id;
    int pid = 0, incarnation = 0;  // incarnation: 0-based count of controllers of this run
    double probed_s = 0;           // how long links were measured right before; 0: they were not
};
struct AgentJoined {
    static constexpr std::string_view kType = "agent_joined";
    int node = 0;
    std::string host, boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    std::map<std::string, std::string> facts;
};
struct NodeLost {
    static constexpr std::string_view kType = "node_lost";
    int node = 0;
    double silent_s = 0;
    std::string why;  // "fell silent", "agent exited with 5", "killed by signal 9"
};
/// The controller ordered workers of `attempt` on every node.
struct LaunchOrdered {
    static constexpr std::string_view kType = "launch";
    int attempt = 0, world_size = 0;
    std::string store_host;
    int store_port = 0;
};
struct RankStarted {
    static constexpr std::string_view kType = "rank_started";
    int attempt = 0, node = 0, rank = 0, pid = 0, start_step = 0;
    std::map<std::string, std::string> facts;  // as the worker saw them after its start
    std::string cpus = {};                     // that it is bound to: "0-15,64-79"; "": not bound
};
struct RankFailed {
    static constexpr std::string_view kType = "rank_failed";
    int attempt = 0, node = 0, rank = 0;
    int exit_code = 0, signal = 0;  // exit_code: meaningful when signal is 0
    bool oom_killed = false;        // the kernel's out-of-memory killer is known to be the cause
    std::string message;            // failure message of the worker, or ""
    std::string tail = {};          // end of its log; of the first rank of a node that fails
};
struct NodeFinished {  // every rank of the node ended successfully
    static constexpr std::string_view kType = "node_finished";
    int attempt = 0, node = 0, steps = 0;
    bool stopped = false;  // stopped on request before the last step
};
struct HangDetected {
    static constexpr std::string_view kType = "hang";
    int attempt = 0, node = 0, rank = 0;
    Phase phase = Phase::starting;
    double silent_s = 0;
    int step = -1, waiting = 0;  // the last step that it completed; ranks that wait at a collective
    std::string detail = {};     // its state when it was examined: "is stopped by a signal"
};
struct CheckpointCompleted {
    static constexpr std::string_view kType = "checkpoint";
    int attempt = 0, step = 0;
    std::string path;
    double seconds = 0;
    std::int64_t bytes = 0;
};
struct RunNotice {
    static constexpr std::string_view kType = "notice";
    int attempt = 0, node = -1, rank = -1, step = 0;
    std::string kind, severity, detail;
};
using RunEvent =
    std::variant<RunSubmitted, PlanChosen, ControllerStarted, AgentJoined, NodeLost, LaunchOrdered,
                 RankStarted, RankFailed, NodeFinished, HangDetected, CheckpointCompleted,
                 RunNotice, StopRequested, NodeStopped, RunEnded, MetricChunk, NodeHealth,
                 RankMatrix, ProbePart, MergedSteps, CollectiveSums, EvaluationDone, RelaunchAsked>;

struct JournalRecord {
    std::uint64_t sequence = 0;  // from 0, without gaps
    std::int64_t wall_us = 0;    // may jump; order comes from the sequence
    RunEvent event;
};

BOOST_DESCRIBE_STRUCT(RunSubmitted, (),
                      (run_uuid, run_name, job, user, host, base_dir, number, nodes, ranks_per_node,
                       restarts_max, steps, clips, attached, facts, config, origins, submitted_us))
BOOST_DESCRIBE_STRUCT(PlanChosen, (), (plan))
BOOST_DESCRIBE_STRUCT(ControllerStarted, (), (host, boot_id, pid, incarnation, probed_s))
BOOST_DESCRIBE_STRUCT(AgentJoined, (), (node, host, boot_id, pid, start_ticks, facts))
BOOST_DESCRIBE_STRUCT(NodeLost, (), (node, silent_s, why))
BOOST_DESCRIBE_STRUCT(LaunchOrdered, (), (attempt, world_size, store_host, store_port))
BOOST_DESCRIBE_STRUCT(RankStarted, (), (attempt, node, rank, pid, start_step, facts, cpus))
BOOST_DESCRIBE_STRUCT(RankFailed, (),
                      (attempt, node, rank, exit_code, signal, oom_killed, message, tail))
BOOST_DESCRIBE_STRUCT(NodeFinished, (), (attempt, node, steps, stopped))
BOOST_DESCRIBE_STRUCT(HangDetected, (),
                      (attempt, node, rank, phase, silent_s, step, waiting, detail))
BOOST_DESCRIBE_STRUCT(CheckpointCompleted, (), (attempt, step, path, seconds, bytes))
BOOST_DESCRIBE_STRUCT(RunNotice, (), (attempt, node, rank, step, kind, severity, detail))

}  // namespace osora::protocol
