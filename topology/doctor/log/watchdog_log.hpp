// What PyTorch's watchdog (ProcessGroupNCCL) writes when a collective times out: PyTorch 1.13 to
// 2.11. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace osora::topology::doctor {

/// How far a rank is in the collectives of one process group; -1: not written.
struct GroupProgress {
    std::int64_t timed_out = -1;  // number of the collective
    std::int64_t enqueued = -1, completed = -1;
};

struct WatchdogRank {
    // The first collective that timed out; -1: none, the rank wrote its progress only.
    std::int64_t number = -1;
    std::string operation;       // "ALLREDUCE"
    std::int64_t elements = -1;  // that go in; -1 before PyTorch 2.1
    double waited_s = 0;
    std::string line;                             // that says so
    std::map<std::string, GroupProgress> groups;  // by name: "0(default_pg)"; before PyTorch 2.5
                                                  // a number that other groups may have, too
};

using Watchdogs = std::map<int, WatchdogRank>;  // by rank

/// Adds the line, if the watchdog wrote it.
void read_watchdog(Watchdogs& ranks, std::string_view line);

}  // namespace osora::topology::doctor
