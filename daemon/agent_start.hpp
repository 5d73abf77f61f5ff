// What a backend tells a new agent on its standard input, as one JSON document: where its
// controller is, the run's token, and where the run lives. Never on a command line (docs/rfc/002).
#pragma once

#include <boost/describe.hpp>

#include <string>

namespace osora::daemon {

struct AgentStart {
    std::string address = "127.0.0.1";  // of the controller
    int port = 0;
    std::string token;  // of the run
    int node = 0;
    std::string run_uuid;
    std::string run_dir;
    std::string store_host = "127.0.0.1";  // how other nodes reach this one; ranks meet there
    bool exec = false;                     // job = "exec"
    double lease_s = 5;
    std::string worker;  // program; empty: osora-worker beside osorad
};
BOOST_DESCRIBE_STRUCT(AgentStart, (),
                      (address, port, token, node, run_uuid, run_dir, store_host, exec, lease_s,
                       worker))

}  // namespace osora::daemon
