// Commands to a run's controller on RUN_DIR/control.sock (docs/rfc/002), frames of JSON. They do
// not cover state and progress: readers follow the journal for these. The peer's uid must be the
// controller's.
#pragma once

#include <boost/describe.hpp>

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
};
using ToController = std::variant<ControlPing, ControlStop>;

struct ControlReply {
    static constexpr std::string_view kType = "reply";
    bool ok = true;
    std::string message;
};
using FromController = std::variant<ControlReply>;

BOOST_DESCRIBE_STRUCT(ControlPing, (), ())
BOOST_DESCRIBE_STRUCT(ControlStop, (), (now, reason))
BOOST_DESCRIBE_STRUCT(ControlReply, (), (ok, message))

}  // namespace osora::protocol
