// The result of `osora report RUN`, as a value: what ran, how fast compared with the plan, the
// parts of a step, what went wrong. Pure; the command prints it.
#pragma once

#include "db/analysis/bottleneck.hpp"
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
    /// predicted / measured: below 1 the run was slower (or larger) than the plan predicted.
    [[nodiscard]] double ratio() const { return predicted / measured; }
};

struct PhaseRow {
    std::string name;          // "data wait", "forward", ...
    double mean_s = kUnknown;  // per step, over ranks and used steps
    double share = kUnknown;   // share of the step
    double predicted_s = kUnknown;
    bool part_of_compute = false;
};
struct BucketRow {
    BucketMeasure measured;
    double share = 0;  // of the used steps
    Compared step_s;
    double samples_per_s = kUnknown;
};
/// Per step and rank, over the ranks and steps that had such collectives.
struct CollectiveRow {
    std::string name, collective, backend;  // name: of the class
    int ranks = 0;                          // of the group
    double calls = 0, bytes = 0;
    double seconds = kUnknown, exposed_s = kUnknown;  // in progress; waited for
    double algbw_gbps = kUnknown;                     // bytes over seconds
};
/// Of all ranks together, at the buckets' median step times; unknown without a plan's counts.
struct WorkRate {
    double flop_per_s = kUnknown;  // the model's forward and backward; recomputing does not count
    double tokens_per_s = kUnknown;
};
struct CheckpointSummary {
    int count = 0, last_step = 0;
    double median_s = kUnknown;
    std::int64_t bytes = 0;  // of the last
};
/// Losses on held-out clips; for a step that was repeated the last one counts.
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
    std::string precision;     // optim.precision as in the run file; "" or "auto": of the device
    double wall_s = kUnknown;  // from submission to the end (or the last record)
    Measured measured;
    Compared step_s, samples_per_s, memory_gib;  // memory: peak of a rank
    Compared rank_balance;  // longest work of a rank in a step over the mean; unknown for one rank
    bool outside_expected = false;  // the step time differs by more than the plan's
                                    // own error
    std::vector<PhaseRow> phases;
    std::vector<BucketRow> buckets;
    WorkRate work;
    std::vector<StageRow> stages;            // none: a run without [[stage]]
    std::vector<CollectiveRow> collectives;  // by class, most exposed first
    std::vector<Relaunch> relaunches;
    CheckpointSummary checkpoints;
    EvaluationSummary evaluations;
    std::vector<NoticeGroup> notices;
    std::vector<std::string> findings;  // findings of the journal's reader
    CoreUse cores;
    std::optional<protocol::Straggler> straggler;  // the rank that delays the others
    std::vector<RankWork> rank_work;               // slowest first; own work per step
    std::vector<Bottleneck> bottlenecks;           // what limits the steps
    ProbeRecord probe;                             // of a run with job = "probe"
    std::vector<std::string> next;                 // commands to try, with the reason
};

[[nodiscard]] RunReport run_report(RunHistory const& history, LivenessFacts const& liveness);

}  // namespace osora::db::analysis
