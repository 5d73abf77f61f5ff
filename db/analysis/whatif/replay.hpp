// Plays a step graph with other durations: what would the step have taken if ...? Pure.
#pragma once

#include "db/analysis/whatif/step_graph.hpp"
#include "db/analysis/whatif/step_ops.hpp"

#include <functional>
#include <vector>

namespace osora::db::whatif {

class Replay {
public:
    /// What is typical of an op type over steps, stages and dp ranks: the mean of compute, the
    /// median of communication. A transfer takes from the last start of its group to its own end.
    Replay(StepOps const& ops, StepGraph const& graph);

    /// Does this op keep the time that it took? The others take what is typical of their type.
    using Keeps = std::function<bool(OpSlot const&, int dp_rank)>;
    /// Seconds of each step, when nothing waits but for the ops before it.
    [[nodiscard]] std::vector<double> step_times(Keeps const& keeps) const;
    [[nodiscard]] double mean_step_s(Keeps const& keeps) const;
    /// Mean when only `dp_rank` keeps its times. One rank stands for all the others, which then do
    /// the same.
    [[nodiscard]] double mean_step_of_rank_s(int dp_rank) const;

private:
    void measure_transfers();
    void find_typical();
    /// One step; `lanes` are indices into the times of a slot, kTypicalLane a rank whose ops all
    /// take what is typical; `keep` has an entry for each slot and lane.
    [[nodiscard]] double step_s(std::vector<std::size_t> const& lanes,
                                std::vector<char> const& keep) const;

    StepOps const& ops_;
    StepGraph const& graph_;
    std::vector<double> taken_s_;    // as StepOps::duration_s, transfers without the wait
    std::vector<double> typical_s_;  // by slot
};

}  // namespace osora::db::whatif
