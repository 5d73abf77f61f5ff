// Cost of a run's collectives of one class, for reports.
#pragma once

#include <cstdint>
#include <string>

namespace osora::db {

/// Sums over ranks, steps and buckets; without the first steps of each launch if there are more.
struct CollectiveTotal {
    std::string name, collective, backend;  // name: of the class, "gradients all_reduce"
    int ranks = 0;                          // of the group
    std::int64_t rank_steps = 0;            // steps with such collectives, counted for each rank
    std::int64_t calls = 0;
    double bytes = 0, seconds = 0, exposed_s = 0;
};

}  // namespace osora::db
