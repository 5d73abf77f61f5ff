// What a run's report needs from single steps. It is stored before they are thinned, so that the
// report does not change. Pure.
#pragma once

#include "db/analysis/measure.hpp"
#include "db/analysis/rank_work.hpp"
#include "db/record/run_record.hpp"
#include "protocol/steps/straggler.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct StepFigures {
    std::map<std::string, double> mean;  // by metric: mean over the used steps, of the ranks' mean
    double least_comm_s = kUnknown;      // exposed_comm_s of the rank that waits least
    /// Of the work of a step before ranks wait for each other: the longest over the mean of the
    /// ranks; 1: they take equally long.
    double rank_balance = kUnknown;
    std::optional<protocol::Straggler> straggler;
    std::vector<RankWork> rank_work;  // slowest first
    Measured measured;                // not in JSON: the history has a table for it

    [[nodiscard]] double mean_of(char const* metric) const;
};
BOOST_DESCRIBE_STRUCT(StepFigures, (), (mean, least_comm_s, rank_balance, straggler, rank_work))

/// `arrivals`: blocks of arrival_s.
[[nodiscard]] StepFigures step_figures(StepTable const& steps,
                                       std::vector<RankBlock> const& arrivals);

}  // namespace osora::db::analysis
