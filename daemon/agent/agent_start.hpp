// What a backend writes to a new agent's standard input, as one JSON document: the controller's
// address, the run's token, and the run directory. Never on a command line (docs/rfc/002).
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"
#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::daemon {

/// Where agents reach the controller of their run.
struct AgentAddress {
    std::vector<std::string> addresses;  // numeric, the most likely first
    int port = 0;
    std::string fingerprint;  // SHA-256 of the controller's certificate, hex; "": plain TCP
};
BOOST_DESCRIBE_STRUCT(AgentAddress, (), (addresses, port, fingerprint))

struct AgentStart {
    AgentAddress controller;
    std::string token;     // of the run
    int node = 0;          // -1: take SLURM_NODEID; srun copies one standard input to all agents
    int agent_number = 0;  // StartAgent.agent_number; 0: one of several that started together
    std::string run_uuid;
    std::string run_dir;
    std::string store_host;  // address of this node for the ranks of other nodes; "": the address
                             // that the controller is reached from
    bool exec = false;       // job = "exec"
    bool in_job = false;     // in a scheduler's job: the scheduler signals agents and workers, too
    double lease_s = 30;
    std::string worker;                        // program; empty: osora-worker beside osorad
    std::vector<protocol::Bytes> environment;  // "NAME=value": override the agent's own
    std::string log;  // file in run_dir for its output after AgentAnnounced; "": output stays where
                      // it was at the start
};
BOOST_DESCRIBE_STRUCT(AgentStart, (),
                      (controller, token, node, agent_number, run_uuid, run_dir, store_host, exec,
                       in_job, lease_s, worker, environment, log))

/// Reads what a backend wrote to this agent's standard input.
[[nodiscard]] Result<AgentStart> read_agent_start(int fd);

/// Determines which node this is, and makes `environment` that of its workers: the agent's own,
/// overridden by `start`, plus the variables by which orphaned processes of the run are found.
[[nodiscard]] Result<void> resolve_node(AgentStart& start, Environment& environment);

}  // namespace osora::daemon
