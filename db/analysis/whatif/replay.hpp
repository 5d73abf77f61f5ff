// Replays a step graph with other durations: how long would the step have taken if ...? Pure.
#pragma once

#include "db/analysis/whatif/step_graph.hpp"
#include "db/analysis/whatif/step_ops.hpp"

#include <functional>
#include <vector>

namespace osora::db::whatif {

class Replay {
public:
    /// The typical time of an op type over steps, stages and dp ranks: the mean for compute, the
    /// median for communication. A transfer lasts from the last start of its group to its own end.
    Replay(StepOps const& ops, StepGraph const& graph);

    /// Whether this op keeps its measured time. The others take the typical time of their type.
    using Keeps = std::function<bool(OpSlot const&, int dp_rank)>;
    /// Seconds of each step if ops wait only for the ops before them.
    [[nodiscard]] std::vector<double> step_times(Keeps const& keeps) const;
    [[nodiscard]] double mean_step_s(Keeps const& keeps) const;
    /// Mean if only `dp_rank` keeps its times. One rank then represents all the others, which are
    /// equal.
    [[nodiscard]] double mean_step_of_rank_s(int dp_rank) const;

private:
    void measure_transfers();
    void find_typical();
    /// One step; `lanes` are indices into the times of a slot, kTypicalLane is a rank whose ops all
    /// take their typical time; `keep` has an entry for each slot and lane.
    [[nodiscard]] double step_s(std::vector<std::size_t> const& lanes,
                                std::vector<char> const& keep) const;

    StepOps const& ops_;
    StepGraph const& graph_;
    std::vector<double> taken_s_;    // as StepOps::duration_s, transfers without the wait
    std::vector<double> typical_s_;  // by slot
};

}  // namespace osora::db::whatif
