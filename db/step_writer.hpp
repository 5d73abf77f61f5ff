// Private to db/: metric chunks of a run into step and step_summary rows. A step of a later epoch
// replaces the older one; chunks of several nodes are merged; a chunk that a node sends again is
// dropped. Matrices of ranks are kept as they are. May throw SQLite::Exception.
#pragma once

#include "db/connection_internal.hpp"
#include "protocol/run_events.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace osora::db {

class StepWriter {
public:
    StepWriter(Connection& connection, std::int64_t run_id);

    /// invalid_input when the chunk's vectors do not fit together; nothing is written then.
    [[nodiscard]] Result<void> add(protocol::MetricChunk const& chunk);
    /// `matrix`: the event of journal record `sequence`.
    void add(protocol::RankMatrix const& matrix, std::uint64_t sequence);
    /// Keeps how far each node has been read.
    void finish();

private:
    struct Position {
        int epoch = -1, next_step = 0;
    };
    enum class Row { fresh, merged, stale };

    [[nodiscard]] Row add_step(protocol::MetricChunk const& chunk, std::size_t index);
    /// Ranks of other nodes may train another bucket in the same step.
    void merge_bucket_of(int step, std::string const& bucket);
    void add_values(protocol::MetricChunk const& chunk, std::size_t index, Row row);
    [[nodiscard]] std::int64_t metric_id(std::string const& name);
    Position& position(int node);

    Connection& connection_;
    std::int64_t run_id_;
    std::int64_t last_step_ = -1;  // no row behind it
    std::map<std::string, std::int64_t> metric_ids_;
    std::map<int, Position> positions_;
};

}  // namespace osora::db
