// Gathers the steps of a node's ranks into matrices (docs/rfc/002), in addition to the reduced
// chunks. Used by the agent. Pure.
#pragma once

#include "protocol/messages/worker_messages.hpp"
#include "protocol/steps/metric_chunk.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::protocol {

class RankMatrixBuilder {
public:
    static constexpr int kBlockSteps = 64;
    static constexpr std::size_t kBlocksMax = 16;  // kept while nobody takes them

    /// For ranks [first_rank, first_rank + ranks) of `node` in `attempt`.
    RankMatrixBuilder(int attempt, int node, int first_rank, int ranks);

    /// Ignores ranks of another node, and steps of a block that was taken.
    void add(int rank, StepMetrics const& metrics);

    /// The oldest block of steps: when all its ranks have reported all of it, when a rank is two
    /// blocks ahead, and with `partial` (end of an attempt) in any state.
    [[nodiscard]] std::optional<RankMatrix> take(bool partial = false);

    /// Steps dropped since the last call because nobody took them.
    [[nodiscard]] std::uint64_t take_dropped();

private:
    using Rows = std::vector<float>;  // kBlockSteps rows of `ranks_`
    struct Block {
        std::size_t cells = 0;              // reported
        int first = kBlockSteps, last = 0;  // step reported, inside the block
        std::map<std::string, Rows> figures;
    };
    [[nodiscard]] RankMatrix matrix_of(int number, Block const& block) const;

    int attempt_, node_, first_rank_, ranks_;
    int next_block_ = 0;  // all blocks below it were taken
    std::uint64_t dropped_ = 0;
    std::map<int, Block> blocks_;  // by step / kBlockSteps
};

}  // namespace osora::protocol
