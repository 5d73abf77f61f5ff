// When an agent or a controller has not run itself (a suspended job, a paused machine).
#pragma once

#include "daemon/clock.hpp"

#include <chrono>

namespace osora::daemon {

/// A core that is called so much later than it asked for was paused: it has read no messages
/// either, and takes nobody's silence for a fault.
constexpr MonotonicTime kOwnPause = std::chrono::seconds(1);

}  // namespace osora::daemon
