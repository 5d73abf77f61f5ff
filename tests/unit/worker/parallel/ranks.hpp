// Ranks as threads of this process, joined by Gloo over a HashStore.
#pragma once

#include "worker/parallel/process_group.hpp"

#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

namespace osora::worker {

/// Runs body(group) once for each rank and waits for all. A collective waits `collective_limit` for
/// its peers; a group forms within the time of GroupConfig, however busy the machine is. No body
/// begins before every rank has joined: a rank that has nothing to say would close its connections
/// while others still make theirs.
inline void run_ranks(int world_size, std::function<void(Group const&)> const& body,
                      std::chrono::milliseconds collective_limit = std::chrono::minutes(1)) {
    allow_ranks_as_threads();
    auto const store = c10::make_intrusive<c10d::HashStore>();
    std::latch joined(world_size);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank)
        threads.emplace_back([&, rank] {
            GroupConfig config;
            config.rank = rank;
            config.world_size = world_size;
            Group const group = join_gloo_group(store, config).value();
            group.backend().setTimeout(collective_limit);
            joined.arrive_and_wait();
            body(group);
        });
}

}  // namespace osora::worker
