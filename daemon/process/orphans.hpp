// Ends what the workers of a run left behind on this machine: orphans, daemons, whole groups. Only
// processes below this one or marked as the run's are touched. Private to shells (Asio inside).
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

namespace osora::daemon {

/// Every process that osora starts for a run carries these in its environment.
inline constexpr char const* kRunMark = "OSORA_RUN_UUID";
inline constexpr char const* kNodeMark = "OSORA_NODE";

struct OrphanScope {
    std::string run_uuid;
    int node = -1;            // -1: of every node
    std::vector<int> spared;  // children of this process that stay, with everything below them
};

/// Kills until nothing of `scope` lives; gives up after `limit_s`. Returns how many then live.
[[nodiscard]] boost::asio::awaitable<int> end_orphans(OrphanScope scope, double limit_s);

}  // namespace osora::daemon
