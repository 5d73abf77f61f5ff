// Views of runs for tests, built the way the program builds them: from records.
#pragma once

#include "protocol/run_view.hpp"

#include <string>
#include <utility>
#include <vector>

namespace osora::cli {

/// A journal in the making. Times are seconds after 2026-01-01 14:31:00 UTC.
class Story {
public:
    static constexpr std::int64_t kStart_us = 1'767'277'860'000'000;

    protocol::JournalRecord record(double at_s, protocol::RunEvent event) {
        protocol::JournalRecord record;
        record.sequence = sequence_++;
        record.wall_us = kStart_us + static_cast<std::int64_t>(at_s * 1e6);
        record.event = std::move(event);
        return record;
    }

    protocol::JournalRecord submitted(int ranks, int steps) {
        protocol::RunSubmitted event;
        event.run_uuid = "0f0f";
        event.run_name = "stage1-0042";
        event.job = "train";
        event.number = 42;
        event.ranks_per_node = ranks;
        event.restarts_max = 3;
        event.steps = steps;
        return record(0, event);
    }
    protocol::JournalRecord plan(double step_time_s) {
        protocol::PlanChosen event;
        event.plan = {{"predicted", {{"step_time_s", step_time_s}}}};
        return record(0, event);
    }
    /// Agent, launch and hello of every rank.
    std::vector<protocol::JournalRecord> launch(double at_s, int attempt, int ranks,
                                                int start_step) {
        std::vector<protocol::JournalRecord> records;
        protocol::AgentJoined joined;
        joined.host = "n4";
        if (attempt == 0) {
            records.push_back(record(at_s, protocol::ControllerStarted{}));
            records.push_back(record(at_s, joined));
        }
        protocol::LaunchOrdered ordered;
        ordered.attempt = attempt;
        ordered.world_size = ranks;
        records.push_back(record(at_s, ordered));
        for (int rank = 0; rank < ranks; ++rank) {
            protocol::RankStarted started;
            started.attempt = attempt;
            started.rank = rank;
            started.start_step = start_step;
            records.push_back(record(at_s + 0.4, started));
        }
        return records;
    }
    struct Steps {
        int first = 0;
        int count = 1;
    };
    struct Pace {
        double step_time_s = 1;
        double loss = 1;
    };
    protocol::JournalRecord steps(double at_s, int attempt, int ranks, Steps range, Pace pace) {
        protocol::MetricChunk chunk;
        chunk.attempt = attempt;
        chunk.ranks = ranks;
        chunk.step0 = range.first;
        auto const n = static_cast<std::size_t>(range.count);
        chunk.bucket.assign(n, "64x64x8");
        chunk.samples.assign(n, 8);
        auto const column = [n](double value) {
            std::vector<double> const same(n, value);
            return protocol::MetricColumn{same, same, same, std::vector<int>(n, 0)};
        };
        chunk.columns = {{"step_time_s", column(pace.step_time_s)},
                         {"loss", column(pace.loss)},
                         {"data_wait_s", column(0.02 * pace.step_time_s)},
                         {"exposed_comm_s", column(0.064 * pace.step_time_s)},
                         {"rss_bytes", column(1.25 * 1024 * 1024 * 1024)}};
        return record(at_s, chunk);
    }

private:
    std::uint64_t sequence_ = 0;
};

}  // namespace osora::cli
