// [faults], [bisect], [notify] and [daemon] of the run file: what the controller does besides its
// launches, most of it when something goes wrong.
#pragma once

#include "base/auto_or.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

struct FaultsSection {
    int max_restarts = 3;
    AutoOr<double> step_timeout;      // seconds
    double collective_timeout = 600;  // seconds; for joining, and for each collective
    double lost_after = 4;            // seconds
    AutoOr<double> lease;             // seconds
    double stacks_limit = 4;          // seconds
    int log_mib = 1024;               // 0: no cap
    std::vector<std::string> exclude_nodes;
};
struct BisectSection {
    std::string auto_mode = "suggest";  // key `auto`
    double budget_gpu_h = 8;
    std::vector<std::string> build;
};
struct NotifySection {
    std::vector<std::string> on{"end", "failure", "regression"};
    std::vector<std::string> command;  // argv; run without a shell
    std::string webhook;               // may hold secrets: records have it masked (receivers.hpp)
    std::string mail;
};
struct DaemonSection {
    std::string metrics;  // "127.0.0.1:9464"; port 0: any free one; empty: none (base/http)
};

BOOST_DESCRIBE_STRUCT(FaultsSection, (),
                      (max_restarts, step_timeout, collective_timeout, lost_after, lease,
                       stacks_limit, log_mib, exclude_nodes))
BOOST_DESCRIBE_STRUCT(BisectSection, (), (auto_mode, budget_gpu_h, build))
BOOST_DESCRIBE_STRUCT(NotifySection, (), (on, command, webhook, mail))
BOOST_DESCRIBE_STRUCT(DaemonSection, (), (metrics))

}  // namespace osora::plan
