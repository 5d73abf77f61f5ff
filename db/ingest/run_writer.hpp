// Private to db/: applies the records of one run's journal, in order, to its rows. After any prefix
// of the journal the rows depend only on its records, not on how they were batched. May throw
// SQLite::Exception.
#pragma once

#include "db/ingest/step_writer.hpp"
#include "db/record/run_record.hpp"
#include "db/store/connection_internal.hpp"
#include "protocol/journal/run_events.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace osora::db {

class RunWriter {
public:
    /// A run whose first record was just read.
    [[nodiscard]] static RunRecord create(Connection& connection,
                                          protocol::RunSubmitted const& submitted,
                                          std::string const& run_dir);

    RunWriter(Connection& connection, RunRecord run);

    void apply(protocol::JournalRecord const& record);
    /// An event that is not in the journal: a problem of the journal itself.
    void add_finding(std::string const& kind, std::string const& detail);
    /// Writes the collected rows; derived ones (`measured`, db/derived/derived.hpp) only at the end
    /// of the journal.
    void finish(bool at_end);

private:
    void on(protocol::RunSubmitted const& event, std::int64_t wall_us);
    void on(protocol::ControllerStarted const& event, std::int64_t wall_us);
    void on(protocol::AgentJoined const& event, std::int64_t wall_us);
    void on(protocol::LaunchOrdered const& event, std::int64_t wall_us);
    void on(protocol::RankStarted const& event, std::int64_t wall_us);
    void on(protocol::RunEnded const& event, std::int64_t wall_us);
    void on(protocol::PlanChosen const& event, std::int64_t wall_us);
    void on(protocol::MetricChunk const& event, std::int64_t wall_us);
    void on(protocol::MergedSteps const& event, std::int64_t wall_us);
    template <class Event>
    void on(Event const&, std::int64_t) {}  // stored only as an event

    void save_launches();
    void measure_steps();

    Facts& facts(FactKind kind) { return facts_[static_cast<std::size_t>(kind)]; }

    Connection& connection_;
    RunRecord run_;
    StepWriter steps_;
    std::array<Facts, 4> facts_;
    struct StepTimes {
        std::int64_t first_us = 0, last_us = 0;
    };
    std::map<int, StepTimes> step_times_;  // by attempt, of this batch
    bool had_ended_;
    bool steps_changed_ = false, events_changed_ = false;
};

}  // namespace osora::db
