// What a run's report needs from single steps. It is stored before they are thinned, so that the
// report does not change. Pure.
#pragma once

#include "db/analysis/measure.hpp"
#include "db/analysis/rank_work.hpp"
#include "db/analysis/report/stage_rows.hpp"
#include "db/record/run_record.hpp"
#include "protocol/steps/straggler.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct StepFigures {
    std::map<std::string, double> mean;  // by metric: mean over the used steps, of the ranks' mean
    std::map<std::string, double> bucket_s;  // seconds_at_medians() of the used steps of a bucket
    double least_comm_s = kUnknown;          // exposed_comm_s of the rank that waits least
    /// Of the work of a step before ranks wait for each other: the longest over the mean of the
    /// ranks; 1: they take equally long.
    double rank_balance = kUnknown;
    std::optional<protocol::Straggler> straggler;
    std::vector<RankWork> rank_work;    // slowest first
    double memory_growth = kUnknown;    // bottleneck.hpp
    std::vector<StageRow> stages = {};  // of a run with [[stage]]
    Measured measured;                  // not in JSON: the history has a table for it

    [[nodiscard]] double mean_of(char const* metric) const;
};
BOOST_DESCRIBE_STRUCT(StepFigures, (),
                      (mean, bucket_s, least_comm_s, rank_balance, straggler, rank_work,
                       memory_growth, stages))

/// `arrivals`: blocks of arrival_s; `events`: of the journal, whose plan says where stages begin.
[[nodiscard]] StepFigures step_figures(StepTable const& steps,
                                       std::vector<RankBlock> const& arrivals,
                                       std::vector<EventRecord> const& events);

}  // namespace osora::db::analysis
