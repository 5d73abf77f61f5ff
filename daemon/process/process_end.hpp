// Waiting for a child without blocking. Private to shells (Asio inside).
#pragma once

#include "base/process/process.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace osora::daemon {

/// Returns when `child` has ended: `before` runs (the child is not reaped yet), the rest of its
/// process group is killed, then it is reaped.
[[nodiscard]] boost::asio::awaitable<ExitStatus> wait_and_reap(Child child,
                                                               std::function<void()> before);

}  // namespace osora::daemon
