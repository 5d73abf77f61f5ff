// RUN_DIR/stop.json and relaunch.json: requests from where the control socket does not reach -
// osora on a login node, the batch step's warnings. Polled twice a second, deleted when read.
#pragma once

#include "base/result.hpp"
#include "protocol/messages/control_messages.hpp"
#include "protocol/run_directory.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace osora::daemon {

[[nodiscard]] Result<void> write_stop_request(protocol::RunPaths const& paths,
                                              protocol::ControlStop const& stop);

/// Never ends. A file that cannot be parsed counts as a request for a graceful stop.
[[nodiscard]] boost::asio::awaitable<void> watch_stop_requests(
    protocol::RunPaths paths, std::function<void(protocol::ControlStop)> on_stop);

/// Never ends. A file that cannot be parsed counts as a request of an unnamed user.
[[nodiscard]] boost::asio::awaitable<void> watch_relaunch_requests(
    protocol::RunPaths paths, std::function<void(protocol::ControlRelaunch)> on_relaunch);

}  // namespace osora::daemon
