// What `osora report RUN` says, as a value: what ran, how fast against the plan, where a step's
// time goes, what went wrong. Pure; the command draws it.
#pragma once

#include "db/analysis/cores.hpp"
#include "db/analysis/history.hpp"
#include "db/analysis/measure.hpp"
#include "db/analysis/report/relaunches.hpp"
#include "db/analysis/report/stage_rows.hpp"
#include "db/analysis/run_state.hpp"
#include "protocol/steps/straggler.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// A quantity that was predicted and measured; NaN = unknown.
struct Compared {
    double predicted = kUnknown, measured = kUnknown;
    /// predicted / measured: below 1 the run was slower (or larger) than the plan said.
    [[nodiscard]] double ratio() const { return predicted / measured; }
};

struct PhaseRow {
    std::string name;          // "data wait", "forward", ...
    double mean_s = kUnknown;  // a step, over ranks and used steps
    double share = kUnknown;   // of the step
    double predicted_s = kUnknown;
    bool part_of_compute = false;
};
struct BucketRow {
    BucketMeasure measured;
    double share = 0;  // of the used steps
    Compared step_s;
    double samples_per_s = kUnknown;
};
/// A step of a rank, over the ranks and steps that had such collectives.
struct CollectiveRow {
    std::string name, collective, backend;  // name: of the class
    int ranks = 0;                          // of the group
    double calls = 0, bytes = 0;
    double seconds = kUnknown, exposed_s = kUnknown;  // under way; waited for
    double algbw_gbps = kUnknown;                     // bytes over seconds
};
struct CheckpointSummary {
    int count = 0, last_step = 0;
    double median_s = kUnknown;
    std::int64_t bytes = 0;  // of the last
};
/// Losses on clips that are not trained on; of a step that was done twice the last one counts.
struct EvaluationSummary {
    int count = 0, last_step = 0, best_step = 0;
    double last_loss = kUnknown, best_loss = kUnknown;
    std::int64_t samples = 0;  // of the last
};
struct NoticeGroup {
    std::string kind, severity;
    int count = 0;
    std::string first;  // detail of the first one
};

struct RunReport {
    RunSummary run;
    RunState state;
    std::string commit;        // of osora; "" = unknown
    double wall_s = kUnknown;  // submitted to end (or last sign)
    Measured measured;
    Compared step_s, samples_per_s, memory_gib;  // memory: peak of a rank
    bool outside_expected = false;               // step time beyond the plan's own error
    std::vector<PhaseRow> phases;
    std::vector<BucketRow> buckets;
    std::vector<StageRow> stages;            // none: a run without [[stage]]
    std::vector<CollectiveRow> collectives;  // by class, most exposed first
    std::vector<Relaunch> relaunches;
    CheckpointSummary checkpoints;
    EvaluationSummary evaluations;
    std::vector<NoticeGroup> notices;
    std::vector<std::string> findings;  // of the journal's reader
    CoreUse cores;
    std::optional<protocol::Straggler> straggler;  // the rank that holds the others up
    std::vector<RankWork> rank_work;               // slowest first; own work a step
    ProbeRecord probe;                             // of a run with job = "probe"
    std::vector<std::string> next;                 // commands worth trying, with the reason
};

[[nodiscard]] RunReport run_report(RunHistory const& history, LivenessFacts const& liveness);

}  // namespace osora::db::analysis
