// RUN_DIR/controller.json (mode 0600): where the controller of a run is now, and what is needed to
// talk to it. Each incarnation of the controller writes it atomically; agents that lose their
// connection and programs that look for a controller's process read it. The token makes it a
// secret.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::protocol {

struct ControllerFile {
    std::string run_uuid;
    std::vector<std::string> addresses;  // for agents: numeric, the most likely first
    int port = 0;
    std::string fingerprint;  // SHA-256 of the certificate, hex; "": plain TCP on loopback
    std::string token;        // of the run; the same in each incarnation
    std::string host, boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    int incarnation = 0;  // ControllerStarted.incarnation
};
BOOST_DESCRIBE_STRUCT(ControllerFile, (),
                      (run_uuid, addresses, port, fingerprint, token, host, boot_id, pid,
                       start_ticks, incarnation))

}  // namespace osora::protocol
