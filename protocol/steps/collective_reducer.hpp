// What the collectives of a node's ranks cost, summed over ranks and steps until the agent tells
// it. Used by the agent. Pure.
#pragma once

#include "protocol/messages/worker_messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace osora::protocol {

class CollectiveReducer {
public:
    /// Steps of a rank at the start of an attempt that are summed apart: connections are made in
    /// them, and buffers.
    static constexpr int kWarmupSteps = 5;
    static constexpr std::size_t kSumsMax = 256;  // classes by buckets; others are left out

    /// For ranks [first_rank, first_rank + ranks) of `node` in `attempt`.
    CollectiveReducer(int attempt, int node, int first_rank, int ranks);

    /// A rank of another node, a step that it told before, and costs that cannot be are ignored.
    void add(int rank, StepMetrics const& metrics);

    /// What came since the last call; nullopt: nothing.
    [[nodiscard]] std::optional<CollectiveSums> take();

private:
    /// Warm-up, class, collective, backend, ranks, bucket.
    using Key = std::tuple<bool, std::string, std::string, std::string, int, std::string>;
    struct Told {
        int last_step = -1, steps = 0;
    };

    int attempt_, node_, first_rank_;
    int number_ = 0;
    std::vector<Told> told_;  // by local rank
    std::map<Key, CollectiveSum> sums_;
};

}  // namespace osora::protocol
