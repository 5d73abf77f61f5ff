// What the collectives of a node's ranks cost, summed over ranks and steps until the agent reports
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
    /// The first steps of a rank in an attempt are summed separately: they create connections and
    /// buffers.
    static constexpr int kWarmupSteps = 5;
    static constexpr std::size_t kSumsMax = 256;  // classes times buckets; others are left out

    /// For ranks [first_rank, first_rank + ranks) of `node` in `attempt`.
    CollectiveReducer(int attempt, int node, int first_rank, int ranks);

    /// Ignores ranks of another node, steps that the rank reported before, and impossible costs.
    void add(int rank, StepMetrics const& metrics);

    /// The sums since the last call; nullopt: none.
    [[nodiscard]] std::optional<CollectiveSums> take();

private:
    /// Warm-up, class, collective, backend, ranks, bucket.
    using Key = std::tuple<bool, std::string, std::string, std::string, int, std::string>;
    struct Seen {
        int last_step = -1, steps = 0;
    };

    int attempt_, node_, first_rank_;
    int number_ = 0;
    std::vector<Seen> seen_;  // by local rank
    std::map<Key, CollectiveSum> sums_;
};

}  // namespace osora::protocol
