// Private to db/: writes a run's steps to step and step_summary rows. A step of a later attempt
// replaces the older one; parts of a step are merged, in memory, so that it is written once per
// batch; repetitions by a node in a journal that was not merged are dropped. Rank matrices are
// stored unchanged. May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"
#include "protocol/journal/run_events.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db {

class StepWriter {
public:
    StepWriter(Connection& connection, std::int64_t run_id);

    /// invalid_input when the vectors do not match in length; nothing is written then.
    [[nodiscard]] Result<void> add(protocol::MergedSteps const& steps);
    /// `matrix`: the event of journal record `sequence`.
    void add(protocol::RankMatrix const& matrix, std::uint64_t sequence);
    /// Writes the steps, and the position up to which each node has been read.
    void finish();

private:
    struct Position {
        int attempt = -1, next_step = 0;
    };
    /// One metric of a step, as in step_summary; NaN represents NULL.
    struct Cell {
        std::int64_t metric_id = 0;
        protocol::FigureSummary summary;
    };
    struct Step {
        int attempt = 0, ranks = 0, samples = 0, repeated = 0;
        std::string bucket;
        std::vector<Cell> cells;  // by metric_id
        bool replaces = false;    // the cells of an older attempt are in the database
    };

    void add_step(protocol::MergedSteps const& steps, std::size_t index);
    /// The current step, from this batch or before; nullptr: it is new.
    [[nodiscard]] Step* find(int step);
    [[nodiscard]] std::optional<Step> load(int step);
    [[nodiscard]] std::int64_t metric_id(std::string const& name);

    Connection& connection_;
    std::int64_t run_id_;
    std::int64_t last_step_ = -1;  // no row behind it
    std::map<std::string, std::int64_t> metric_ids_;
    std::map<int, Position> positions_;
    std::map<int, Step> steps_;  // of this batch
};

}  // namespace osora::db
