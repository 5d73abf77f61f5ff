// A run in the history: value types shared by the store, the analysis and the reports.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

enum class FactKind { config, software, env, hardware };
BOOST_DESCRIBE_ENUM(FactKind, config, software, env, hardware)
inline constexpr std::array kFactKinds{FactKind::config, FactKind::software, FactKind::env,
                                       FactKind::hardware};
using Facts = std::map<std::string, std::string>;

struct RunRecord {
    std::int64_t run_id = 0;  // id within this database only; users see number, name and uuid
    std::string uuid;
    int number = 0;
    std::string name;    // "stdit3-stage1-0042"
    std::string series;  // config.run.name: "stdit3-stage1"
    std::int64_t series_id = 0;
    std::string job, arch, user, host, run_dir;
    // By the user, before it waited in a queue; when its controller wrote its first record.
    std::optional<std::int64_t> submitted_us, started_us, first_step_us, last_us, ended_us;
    protocol::Verdict verdict = protocol::Verdict::none;  // none: no end is recorded
    int exit_code = 0;
    std::string cause;
    int nodes = 1, ranks = 1;  // of the last launch; before the first: as requested
    int steps_planned = 0, restarts_max = 0;
    bool attached = true;
    int attempt = -1, launches = 0;  // of the last launch; number of launches so far
    int controllers = 0;
    std::string controller_host, controller_boot_id;
    int controller_pid = 0;
    std::array<std::optional<std::int64_t>, 4> fingerprint;  // by FactKind
};

/// Whether osora history import made its folder: its content comes from another machine, and none
/// of its commands, paths and jobs is used here unless the user says so.
[[nodiscard]] bool is_imported(RunRecord const& run);

/// Where the time of a run begins: a queue is no part of it. As wall_s of the view v_run.
[[nodiscard]] std::optional<std::int64_t> began_us(RunRecord const& run);

// What the history stores of a plan::PlanDecision, under the names of its JSON and of the columns
// of `plan`, `plan_bucket` and `plan_batch`.
struct PlannedBucket {
    std::string resolution;
    int num_frames = 1, height = 0, width = 0;
    int micro_batch_size = 1, grad_accum_steps = 1, global_batch_size = 1;
    double gflop_per_sample = kUnknown, tokens_per_sample = kUnknown;
    double step_time_s = kUnknown, peak_memory_gib = kUnknown;

    /// The form that workers use in StepMetrics::bucket: "64x96x8", height x width x frames.
    [[nodiscard]] std::string label() const;
    friend bool operator==(PlannedBucket const&, PlannedBucket const&) = default;
};
struct PlannedLayout {
    int tp_size = 1, pp_size = 1, sp_size = 1, dp_size = 1, zero_stage = 0;
    int shard_size = 0;   // ranks that share what ZeRO divides; 0: all
    std::string sp_kind;  // ulysses, ring; empty: no ranks share tokens
    std::string recompute, activation_store;
    int num_workers = 0, threads_per_rank = 0;
    int first_stage_step = 0;  // at_step of the first [[stage]], which has its own plan; 0: none
    std::vector<PlannedBucket> buckets;
};
struct PlannedFigures {  // NaN if missing
    double step_time_s = kUnknown, step_time_error = kUnknown, compute_s = kUnknown;
    double exposed_comm_s = kUnknown, bubble_s = kUnknown, loader_s = kUnknown;
    double rank_wait_s = kUnknown, rank_balance = kUnknown;
    double peak_memory_gib = kUnknown, host_memory_gib = kUnknown, samples_per_s = kUnknown;
};
struct PlannedBatch {
    std::int64_t global_batch_size = 0;
    double exposed_comm_share = kUnknown, step_time_s = kUnknown, samples_per_s = kUnknown;
};
struct PlanRecord {
    PlannedLayout chosen;
    PlannedFigures predicted;
    std::vector<PlannedBatch> batch_curve;
};
BOOST_DESCRIBE_STRUCT(PlannedBucket, (),
                      (resolution, num_frames, height, width, micro_batch_size, grad_accum_steps,
                       global_batch_size, gflop_per_sample, tokens_per_sample, step_time_s,
                       peak_memory_gib))
BOOST_DESCRIBE_STRUCT(PlannedLayout, (),
                      (tp_size, pp_size, sp_size, dp_size, zero_stage, shard_size, sp_kind,
                       recompute, activation_store, num_workers, threads_per_rank, first_stage_step,
                       buckets))
BOOST_DESCRIBE_STRUCT(PlannedFigures, (),
                      (step_time_s, step_time_error, compute_s, exposed_comm_s, bubble_s, loader_s,
                       rank_wait_s, rank_balance, peak_memory_gib, host_memory_gib, samples_per_s))
BOOST_DESCRIBE_STRUCT(PlannedBatch, (),
                      (global_batch_size, exposed_comm_share, step_time_s, samples_per_s))
BOOST_DESCRIBE_STRUCT(PlanRecord, (), (chosen, predicted, batch_curve))

/// A machine of a run.
struct RunNode {
    int node = 0;
    std::string hostname, boot_id;
    int cores = 0;  // 0: not known
};

struct EventRecord {
    std::int64_t sequence = -1;  // -1: added by the reader of the journal
    std::int64_t wall_us = 0;
    std::string kind, severity;
    int attempt = -1, node = -1, rank = -1, step = -1;  // -1: does not apply
    std::string body;                                   // JSON
};

/// Per-step values over the ranks; NaN if a step has none.
struct StepColumn {
    std::vector<double> mean, min, max;
    std::vector<int> argmax;  // rank with the maximum, -1: none
};
/// Steps in ascending order; all vectors have one entry per step.
struct StepTable {
    std::vector<int> step, attempt, ranks, samples, repeated;
    std::vector<int> bucket;           // index into `buckets`
    std::vector<std::string> buckets;  // distinct, in order of appearance
    std::map<std::string, StepColumn> columns;
    std::vector<int> stands_for;  // steps that each stands for, of a thinned run; empty: itself

    [[nodiscard]] std::size_t size() const { return step.size(); }
    [[nodiscard]] double weight(std::size_t index) const {
        return stands_for.empty() ? 1 : stands_for[index];
    }
    /// nullptr when no step has it.
    [[nodiscard]] StepColumn const* column(std::string const& name) const {
        auto const found = columns.find(name);
        return found == columns.end() ? nullptr : &found->second;
    }
};

}  // namespace osora::db
