// Messages from osora to the daemon (osorad serve) on its unix socket (docs/rfc/002), frames of
// JSON: a hello first, then commands, one reply for each. The peer's uid must be the daemon's.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::protocol {

constexpr int kDaemonProtocol = 1;

// Names in the state folder.
inline constexpr std::string_view kDaemonSocket = "daemon.sock";
inline constexpr std::string_view kDaemonSocketPointer = "daemon.path";  // where it is, otherwise

struct DaemonHello {
    static constexpr std::string_view kType = "hello";
    int protocol = kDaemonProtocol;
    std::string version;  // of the sender
};
/// Controls the run from now on: starts its controller, and restarts it when it dies, with the
/// environment of RUN_DIR/environment, until the run is over.
struct AdoptRun {
    static constexpr std::string_view kType = "take_run";
    std::string run_dir;
    bool resume = false;  // reopen a run that ended without success
};
struct DaemonStatus {
    static constexpr std::string_view kType = "status";
};
/// The daemon exits; the controllers of its runs continue.
struct StopDaemon {
    static constexpr std::string_view kType = "stop";
};
using ToDaemon = std::variant<DaemonHello, AdoptRun, DaemonStatus, StopDaemon>;

struct SupervisedRun {
    std::string run_dir;
    int controller_pid = 0;  // 0: none lives now
    int restarts = 0;        // of its controller, by this daemon
};
struct DaemonReply {
    static constexpr std::string_view kType = "reply";
    bool ok = true;
    std::string message;  // why it failed
    int protocol = kDaemonProtocol;
    std::string version;
    int pid = 0;
    double up_s = 0;
    std::vector<SupervisedRun> runs;
};
using FromDaemon = std::variant<DaemonReply>;

BOOST_DESCRIBE_STRUCT(DaemonHello, (), (protocol, version))
BOOST_DESCRIBE_STRUCT(AdoptRun, (), (run_dir, resume))
BOOST_DESCRIBE_STRUCT(DaemonStatus, (), ())
BOOST_DESCRIBE_STRUCT(StopDaemon, (), ())
BOOST_DESCRIBE_STRUCT(SupervisedRun, (), (run_dir, controller_pid, restarts))
BOOST_DESCRIBE_STRUCT(DaemonReply, (), (ok, message, protocol, version, pid, up_s, runs))

}  // namespace osora::protocol
