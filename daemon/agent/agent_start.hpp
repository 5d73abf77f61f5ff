// What a backend tells a new agent on its standard input, as one JSON document: where its
// controller is, the run's token, and where the run lives. Never on a command line (docs/rfc/002).
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
    std::vector<std::string> addresses;  // numeric, the likeliest first
    int port = 0;
    std::string fingerprint;  // SHA-256 of the controller's certificate, hex; "": plain TCP
};
BOOST_DESCRIBE_STRUCT(AgentAddress, (), (addresses, port, fingerprint))

struct AgentStart {
    AgentAddress controller;
    std::string token;  // of the run
    int node = 0;       // -1: what SLURM_NODEID says; srun copies one standard input to all agents
    int agent_number = 0;  // StartAgent.agent_number; 0: one of several that started together
    std::string run_uuid;
    std::string run_dir;
    std::string store_host;  // how other nodes reach this one, ranks meet there; "": the address
                             // that the controller is reached from
    bool exec = false;       // job = "exec"
    bool in_job = false;     // a scheduler's: it signals agents and workers, too
    double lease_s = 5;
    std::string worker;                        // program; empty: osora-worker beside osorad
    std::vector<protocol::Bytes> environment;  // "NAME=value": set over the agent's own
    std::string log;  // file in run_dir for its output, after AgentAnnounced; "": as it was started
};
BOOST_DESCRIBE_STRUCT(AgentStart, (),
                      (controller, token, node, agent_number, run_uuid, run_dir, store_host, exec,
                       in_job, lease_s, worker, environment, log))

/// What a backend wrote to this agent's standard input.
[[nodiscard]] Result<AgentStart> read_agent_start(int fd);

/// Settles which node this is, and makes `environment` that of its workers: the agent's own, what
/// `start` sets over it, and the marks by which orphaned processes of the run are found.
[[nodiscard]] Result<void> resolve_node(AgentStart& start, Environment& environment);

}  // namespace osora::daemon
