// Waiting for a child without blocking. Private to shells (Asio inside).
#pragma once

#include "base/process/process.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace osora::daemon {

/// Ends when `child` has ended: `before` runs (it is not reaped yet), what is left of its process
/// group is killed, then it is reaped.
[[nodiscard]] boost::asio::awaitable<ExitStatus> wait_and_reap(Child child,
                                                               std::function<void()> before);

}  // namespace osora::daemon
