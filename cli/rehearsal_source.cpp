// History is a help here, not a need: what cannot be read counts as not there.
#include "cli/rehearsal_source.hpp"

#include "cli/history_access.hpp"
#include "db/analysis/bucket_compute.hpp"
#include "db/facts.hpp"
#include "db/queries.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

constexpr std::string_view kSuffix = "-rehearsal";
constexpr int kStepsMin = 5;

struct Found {
    OpenHistory history;
    db::SeriesRun run;
};

db::Facts training_work(plan::RunConfig config) {
    config.run.job = "train";
    return db::work_of(protocol::to_json(config));
}

bool is_on_gpu(db::RunSummary const& run) {
    return !run.device.empty() && !run.device.starts_with("cpu");
}

bool fits(db::SeriesRun const& run, db::Facts const& work, PlannedRun const& planned) {
    auto const& summary = run.summary;
    return summary.run.job == "train" && summary.run.ended_us && summary.plan && summary.measured &&
           summary.measured->steps_used >= kStepsMin &&
           summary.plan->threads_per_rank == planned.decision.chosen.threads_per_rank &&
           is_on_gpu(summary) == planned.header.gpu && run.work == work;
}

std::optional<Found> find_trained(Context const& context, plan::RunConfig const& config,
                                  PlannedRun const& planned) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return std::nullopt;
    auto history = open_history(*state);
    if (history.has_error()) return std::nullopt;
    auto const runs = db::load_series(*history->store, trained_series(config.run.name));
    if (runs.has_error()) return std::nullopt;
    auto const work = training_work(config);
    auto const found = std::find_if(runs->rbegin(), runs->rend(), [&](db::SeriesRun const& run) {
        return fits(run, work, planned);
    });
    if (found == runs->rend()) return std::nullopt;
    return Found{.history = std::move(*history), .run = *found};
}

double samples_a_rank(int global_batch_size, int dp_size) {
    return static_cast<double>(global_batch_size) / std::max(1, dp_size);
}

/// The bucket as the run had planned it; nullptr: it had none such.
db::PlannedBucket const* planned_bucket(db::PlanRecord const& plan, std::string const& label) {
    auto const found = std::ranges::find(plan.buckets, label, &db::PlannedBucket::label);
    return found == plan.buckets.end() ? nullptr : &*found;
}

std::string label_of(plan::BucketPlan const& bucket) {
    return fmt::format("{}x{}x{}", bucket.height, bucket.width, bucket.num_frames);
}

bool same_size(db::RunSummary const& run, plan::RunConfig const& config,
               plan::LayoutPlan const& chosen) {
    auto const& resources = config.resources;
    bool same = run.run.nodes == resources.nodes &&
                run.run.ranks == resources.nodes * resources.gpus_per_node;
    for (auto const& bucket : chosen.buckets) {
        auto const* const then = planned_bucket(*run.plan, label_of(bucket));
        same = same && then != nullptr && then->global_batch_size == bucket.global_batch_size;
    }
    return same;
}

std::optional<plan::BucketCompute> compute_of(plan::BucketPlan const& bucket,
                                              plan::LayoutPlan const& chosen,
                                              db::RunSummary const& run,
                                              std::vector<db::analysis::BucketWork> const& works) {
    std::string const label = label_of(bucket);
    auto const work = std::ranges::find(works, label, &db::analysis::BucketWork::bucket);
    auto const* const then = planned_bucket(*run.plan, label);
    if (work == works.end() || then == nullptr) return std::nullopt;
    double const had = samples_a_rank(then->global_batch_size, run.plan->dp_size);
    double const has = samples_a_rank(bucket.global_batch_size, chosen.dp_size);
    if (had <= 0 || has <= 0) return std::nullopt;
    std::string source = fmt::format("run {}", run.run.number);
    if (had != has) source += fmt::format(", scaled from {} to {} samples a rank", had, has);
    return plan::BucketCompute{.forward_s = work->forward_s * has / had,
                               .backward_s = work->backward_s * has / had,
                               .optimizer_s = work->optimizer_s,
                               .source = std::move(source)};
}

}  // namespace

std::string rehearsal_series(std::string_view run_name) {
    return trained_series(run_name) + std::string(kSuffix);
}

std::string trained_series(std::string_view run_name) {
    if (run_name.ends_with(kSuffix)) run_name.remove_suffix(kSuffix.size());
    return std::string(run_name);
}

std::optional<TrainedRun> trained_run(Context const& context, plan::RunConfig const& config,
                                      PlannedRun const& planned) {
    auto const found = find_trained(context, config, planned);
    if (!found) return std::nullopt;
    auto const& summary = found->run.summary;
    auto const& chosen = planned.decision.chosen;
    TrainedRun trained{.number = summary.run.number,
                       .step_s = summary.measured->step_s_median,
                       .same_size = same_size(summary, config, chosen),
                       .compute = {}};
    auto const run = db::load_run(*found->history.store, summary.run.run_id);
    if (run.has_error()) return trained;
    auto const works = db::analysis::bucket_work(run->steps);
    for (auto const& bucket : chosen.buckets) {
        trained.compute.push_back(compute_of(bucket, chosen, summary, works));
    }
    return trained;
}

}  // namespace osora::cli
