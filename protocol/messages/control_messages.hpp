// Commands to a run's controller on RUN_DIR/control.sock (docs/rfc/002), frames of JSON. They do
// not cover state and progress: readers follow the journal for these. The peer's uid must be the
// controller's.
#pragma once

#include <boost/describe.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace osora::protocol {

struct ControlPing {
    static constexpr std::string_view kType = "ping";
};
struct ControlStop {
    static constexpr std::string_view kType = "stop";
    bool now = false;  // true: without a checkpoint
    std::string reason;
    /// False: a signal of Slurm, which several processes of the run receive and pass on.
    bool by_user = true;
};
/// Stop the workers after a checkpoint and launch them again from it (docs/rfc/001). Controllers
/// that do not know it answer "unknown message 'relaunch'".
struct ControlRelaunch {
    static constexpr std::string_view kType = "relaunch";
    bool now = false;          // true: without that checkpoint
    std::string user, reason;  // at most kRelaunchTextMax bytes each; the rest is cut off
};
constexpr std::size_t kRelaunchTextMax = 200;
using ToController = std::variant<ControlPing, ControlStop, ControlRelaunch>;

struct ControlReply {
    static constexpr std::string_view kType = "reply";
    bool ok = true;
    std::string message;
    int attempt = -1;  // to a relaunch: the newest attempt when it was asked for; -1: none yet
};
using FromController = std::variant<ControlReply>;

BOOST_DESCRIBE_STRUCT(ControlPing, (), ())
BOOST_DESCRIBE_STRUCT(ControlStop, (), (now, reason, by_user))
BOOST_DESCRIBE_STRUCT(ControlRelaunch, (), (now, user, reason))
BOOST_DESCRIBE_STRUCT(ControlReply, (), (ok, message, attempt))

}  // namespace osora::protocol
