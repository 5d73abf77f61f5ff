// Kills the processes that workers of a run have left on this machine: orphans, daemons, whole
// groups. Only descendants of this process and processes that carry the run's variables are
// touched. Private to shells (Asio inside).
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <vector>

namespace osora::daemon {

/// Every process that osora starts for a run has these in its environment.
inline constexpr char const* kRunMark = "OSORA_RUN_UUID";
inline constexpr char const* kNodeMark = "OSORA_NODE";

struct OrphanScope {
    std::string run_uuid;
    int node = -1;  // -1: of every node
    /// Children of this process that stay, with all their descendants. Asked before each pass:
    /// one may start while the others are being killed. Empty: none.
    std::function<std::vector<int>()> spared;
};

/// Kills until no process of `scope` lives; gives up after `limit_s`. Returns how many still live.
[[nodiscard]] boost::asio::awaitable<int> end_orphans(OrphanScope scope, double limit_s);

}  // namespace osora::daemon
