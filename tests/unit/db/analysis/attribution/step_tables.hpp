// Steps of made-up runs for tests of the attribution: every phase of every rank is given, so the
// seconds of a cause can be computed by hand.
#pragma once

#include "db/record/run_record.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace osora::db::analysis::test {

/// What one rank does in one step, in seconds.
struct RankStep {
    double data_wait_s = 0, forward_s = 1, backward_s = 2, optimizer_s = 0.5;
    double transfer_s = 0.25, other_s = 0.05;
    double unexplained_s = 0;  // in the step time, in no phase
};

struct MadeRun {
    int ranks = 4, steps = 120;
    double samples_per_rank = 8;
    std::function<std::string(int step)> bucket = [](int) { return "64x64x8"; };
    std::function<RankStep(int step, int rank)> rank_step = [](int, int) { return RankStep{}; };
    bool arrivals = true;
};

/// A synchronous run: ranks wait in their communication for the one whose work ends last.
inline StepTable steps_of(MadeRun const& run) {
    StepTable table;
    for (int step = 0; step < run.steps; ++step) {
        std::vector<RankStep> ranks;
        double last_s = 0, step_s = 0;
        for (int rank = 0; rank < run.ranks; ++rank) {
            ranks.push_back(run.rank_step(step, rank));
            auto const& each = ranks.back();
            last_s = std::max(last_s, each.data_wait_s + each.forward_s + each.backward_s);
        }
        for (auto const& each : ranks) {
            step_s = std::max(step_s, last_s + each.transfer_s + each.optimizer_s + each.other_s +
                                          each.unexplained_s);
        }
        table.step.push_back(step);
        table.attempt.push_back(0);
        table.ranks.push_back(run.ranks);
        table.samples.push_back(static_cast<int>(run.samples_per_rank * run.ranks));
        table.repeated.push_back(0);
        auto const label = run.bucket(step);
        auto const known = std::ranges::find(table.buckets, label);
        table.bucket.push_back(static_cast<int>(known - table.buckets.begin()));
        if (known == table.buckets.end()) table.buckets.push_back(label);
        auto const put = [&](char const* name, auto figure) {
            auto& column = table.columns[name];
            double sum = 0, least = figure(ranks[0]), most = least;
            int latest = 0;
            for (int rank = 0; rank < run.ranks; ++rank) {
                double const value = figure(ranks[static_cast<std::size_t>(rank)]);
                sum += value;
                least = std::min(least, value);
                if (value > most) latest = rank;
                most = std::max(most, value);
            }
            column.mean.push_back(sum / run.ranks);
            column.min.push_back(least);
            column.max.push_back(most);
            column.argmax.push_back(latest);
        };
        auto const arrival = [](RankStep const& each) {
            return each.data_wait_s + each.forward_s + each.backward_s;
        };
        put("step_time_s", [&](RankStep const&) { return step_s; });
        put("data_wait_s", [](RankStep const& each) { return each.data_wait_s; });
        put("forward_s", [](RankStep const& each) { return each.forward_s; });
        put("backward_s", [](RankStep const& each) { return each.backward_s; });
        put("optimizer_s", [](RankStep const& each) { return each.optimizer_s; });
        put("other_s", [](RankStep const& each) { return each.other_s; });
        put("exposed_comm_s",
            [&](RankStep const& each) { return last_s - arrival(each) + each.transfer_s; });
        if (run.arrivals) put("arrival_s", arrival);
    }
    return table;
}

}  // namespace osora::db::analysis::test
