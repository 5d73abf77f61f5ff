// `osorad sweep`: kills what is left of a run's agent and workers on this host. Instructions come
// on standard input, the answer goes to standard output, each as one JSON document.
#pragma once

#include "base/log/log.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string>

namespace osora::daemon {

struct SweepOrder {
    std::string run_uuid;
    int node = 0;
    std::string boot_id;  // of the agent; pid 0 = it has already ended
    int pid = 0;
    std::int64_t start_ticks = 0;
};
struct SweepAnswer {
    int left = -1;  // processes that survived
};
BOOST_DESCRIBE_STRUCT(SweepOrder, (), (run_uuid, node, boot_id, pid, start_ticks))
BOOST_DESCRIBE_STRUCT(SweepAnswer, (), (left))

/// The exit code.
[[nodiscard]] int sweep_host(Logger& log);

}  // namespace osora::daemon
