// Training steps of the ranks of one node, reduced to one row a step (docs/rfc/002): mean, minimum,
// maximum and the rank of the maximum, for each figure of StepMetrics. Used by the agent. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::protocol {

class MetricReducer {
public:
    static constexpr std::size_t kRowsMax = 8192;  // kept while nobody takes them
    static constexpr int kChunkSteps = 128;        // keeps a chunk far below the frame limit

    /// The ranks that a row waits for.
    enum class Wait {
        all,      // every rank reports every step
        speakers  // those that report at all (exec: often rank 0 alone), in ascending order
    };

    /// For ranks [first_rank, first_rank + ranks) of `node` in `attempt`.
    MetricReducer(int attempt, int node, int first_rank, int ranks, Wait wait = Wait::all);

    /// Ignores ranks of another node and steps that were already taken. NaN counts as the greatest
    /// value, so argmax is a rank that has it.
    void add(int rank, StepMetrics const& metrics);

    /// The oldest consecutive steps that every rank has reported, at most kChunkSteps; nullopt when
    /// there is none. With `partial` also steps that some ranks never reported (end of an attempt);
    /// MetricChunk::ranks says how many did.
    [[nodiscard]] std::optional<MetricChunk> take(bool partial = false);

    /// Drops the oldest rows until take(true) would return at most `pieces` chunks: steps with gaps
    /// between them become separate chunks.
    void keep_newest(std::size_t pieces);

    /// Steps that wait to be taken.
    [[nodiscard]] std::size_t rows() const { return rows_.size(); }

    /// Rows dropped since the last call because nobody took them.
    [[nodiscard]] std::uint64_t take_dropped();

private:
    struct Cell {
        double sum = 0, min = 0, max = 0;
        int argmax = 0;
    };
    struct Row {
        std::vector<bool> reported;  // by local rank
        int ranks = 0, samples = 0;
        std::string bucket;
        std::vector<Cell> cells;  // one for each column
    };
    static void append(MetricChunk& chunk, Row const& row);
    void drop_until(std::map<int, Row>::iterator first_kept);
    [[nodiscard]] bool is_complete(int step, Row const& row) const;

    int attempt_, node_, first_rank_, ranks_;
    Wait wait_;
    std::vector<int> last_steps_;  // by local rank; -1 = has not reported
    int next_step_ = 0;            // all steps below it were taken
    std::uint64_t dropped_ = 0;
    std::map<int, Row> rows_;  // by step
};

}  // namespace osora::protocol
