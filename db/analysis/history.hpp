// Input of the analysis: runs as db/store/queries.hpp reads them.
#pragma once

#include "db/analysis/measure.hpp"
#include "db/analysis/rank_work.hpp"
#include "db/analysis/step_figures.hpp"
#include "db/record/collective_record.hpp"
#include "db/record/probe_record.hpp"
#include "db/record/run_record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct RunSummary {
    RunRecord run;
    std::optional<PlanRecord> plan;
    std::optional<Measured> measured;  // none before the first step
    std::vector<RunNode> nodes;
    std::string device;  // of rank 0: "cpu", "cuda:0 ..."; "" = not known
};

/// A run with everything that a report needs.
struct RunHistory {
    RunSummary summary;
    std::vector<EventRecord> events;  // in the order of the journal
    StepTable steps;
    std::vector<RankBlock> arrivals;  // arrival_s of each rank
    /// For a run whose steps or matrices were thinned: figures from before that. `steps` has the
    /// remaining steps.
    std::optional<StepFigures> kept;
    Facts config, software, env, hardware;
    std::vector<CollectiveTotal> collectives;  // of training steps
    ProbeRecord probe;                         // empty when nothing was probed
    int runs_in_series = 1;                    // same work, including this run
};

/// A run of a series, with its work.
struct SeriesRun {
    RunSummary summary;
    Facts work;
};

}  // namespace osora::db::analysis
