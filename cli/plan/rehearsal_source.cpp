// History is optional here: if it cannot be read, it counts as empty.
#include "cli/plan/rehearsal_source.hpp"

#include "cli/command/history_access.hpp"
#include "db/analysis/bucket_compute.hpp"
#include "db/analysis/report/prediction_report.hpp"
#include "db/record/facts.hpp"
#include "db/store/queries.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

constexpr std::string_view kSuffix = "-rehearsal";
// Trials of a run also take compute times from it.
constexpr std::string_view kTuneSuffix = "-tune", kBisectSuffix = "-bisect";

struct Found {
    db::RunHistory run;
    bool alike = false;
};

db::Facts training_work(plan::RunConfig config) {
    config.run.job = "train";
    return db::work_of(protocol::to_json(config));
}

bool fits(db::SeriesRun const& run, db::Facts const& work, PlannedRun const& planned) {
    auto const& summary = run.summary;
    return summary.run.job == "train" && summary.run.ended_us && summary.plan && summary.measured &&
           summary.measured->steps_used >= kMeasuredStepsMin &&
           summary.plan->chosen.threads_per_rank == planned.decision.chosen.threads_per_rank &&
           is_on_gpu(summary) == planned.header.gpu && db::without_stages(run.work) == work;
}

/// Ranks that share samples share their work.
template <class Layout>
double samples_a_rank(int global_batch_size, Layout const& layout) {
    int const ranks = layout.dp_size * layout.tp_size * layout.sp_size * layout.pp_size;
    return static_cast<double>(global_batch_size) / std::max(1, ranks);
}

/// The bucket as that run had planned it; nullptr: it had no such bucket.
db::PlannedBucket const* planned_bucket(db::PlanRecord const& plan, std::string const& label) {
    auto const& buckets = plan.chosen.buckets;
    auto const found = std::ranges::find(buckets, label, &db::PlannedBucket::label);
    return found == buckets.end() ? nullptr : &*found;
}

std::string label_of(plan::BucketPlan const& bucket) {
    return fmt::format("{}x{}x{}", bucket.height, bucket.width, bucket.num_frames);
}

/// Whether both reduce the same number of bytes over the same number of ranks in the same way.
bool is_alike(db::RunHistory const& run, plan::RunConfig const& config,
              plan::LayoutPlan const& chosen) {
    auto const& resources = config.resources;
    auto const& record = run.summary.run;
    // Steps of a [[stage]] are none of the rehearsal's.
    bool alike = record.nodes == resources.nodes &&
                 record.ranks == resources.nodes * resources.gpus_per_node &&
                 db::analysis::plan_covers(run.summary);
    auto const& layout = run.summary.plan->chosen;
    alike = alike && layout.tp_size == chosen.tp_size && layout.sp_size == chosen.sp_size &&
            layout.pp_size == chosen.pp_size;
    auto const asked = db::flatten(protocol::to_json(config));
    for (char const* key : {"debug.collectives", "parallel.overlap", "parallel.grad_bucket_mib"}) {
        auto const then = run.config.find(key);
        alike = alike && then != run.config.end() && then->second == asked.at(key);
    }
    for (auto const& bucket : chosen.buckets) {
        auto const* const then = planned_bucket(*run.summary.plan, label_of(bucket));
        alike = alike && then != nullptr && then->global_batch_size == bucket.global_batch_size;
    }
    return alike;
}

std::optional<Found> find_trained(Context const& context, plan::RunConfig const& config,
                                  PlannedRun const& planned) {
    constexpr int kLookedAt = 20;
    auto const state = state_dir(context.environment);
    if (state.has_error()) return std::nullopt;
    auto const history = open_history(*state);
    if (history.has_error()) return std::nullopt;
    auto const runs = db::load_series(*history->store, trained_series(config.run.name));
    if (runs.has_error()) return std::nullopt;
    auto const work = training_work(config);
    std::optional<Found> newest;
    int looked_at = 0;
    for (auto each = runs->rbegin(); each != runs->rend() && looked_at < kLookedAt; ++each) {
        if (!fits(*each, work, planned)) continue;
        ++looked_at;
        auto run = db::load_run(*history->store, each->summary.run.run_id);
        if (run.has_error()) continue;
        bool const alike = is_alike(*run, config, planned.decision.chosen);
        if (alike) return Found{.run = std::move(*run), .alike = true};
        if (!newest) newest = Found{.run = std::move(*run), .alike = false};
    }
    return newest;
}

std::optional<plan::BucketCompute> compute_of(plan::BucketPlan const& bucket,
                                              plan::LayoutPlan const& chosen,
                                              db::RunSummary const& run,
                                              std::vector<db::analysis::BucketWork> const& works) {
    std::string const label = label_of(bucket);
    auto const work = std::ranges::find(works, label, &db::analysis::BucketWork::bucket);
    auto const* const then = planned_bucket(*run.plan, label);
    if (work == works.end() || then == nullptr || !std::isfinite(work->optimizer_s)) {
        return std::nullopt;
    }
    double const had = samples_a_rank(then->global_batch_size, run.plan->chosen);
    double const has = samples_a_rank(bucket.global_batch_size, chosen);
    if (had <= 0 || has <= 0) return std::nullopt;
    std::string source = fmt::format("run {}", run.run.number);
    if (had != has) source += fmt::format(", scaled from {} to {} samples a rank", had, has);
    return plan::BucketCompute{.forward_s = work->forward_s * has / had,
                               .backward_s = work->backward_s * has / had,
                               .optimizer_s = work->optimizer_s,
                               .source = std::move(source)};
}

}  // namespace

bool is_on_gpu(db::RunSummary const& run) {
    return !run.device.empty() && !run.device.starts_with("cpu");
}

std::string rehearsal_series(std::string_view run_name) {
    return trained_series(run_name) + std::string(kSuffix);
}

std::string trained_series(std::string_view run_name) {
    for (std::string_view const suffix : {kSuffix, kTuneSuffix, kBisectSuffix}) {
        if (run_name.ends_with(suffix)) run_name.remove_suffix(suffix.size());
    }
    return std::string(run_name);
}

std::optional<TrainedRun> trained_run(Context const& context, plan::RunConfig const& config,
                                      PlannedRun const& planned) {
    auto const found = find_trained(context, config, planned);
    if (!found) return std::nullopt;
    auto const& summary = found->run.summary;
    TrainedRun trained{.number = summary.run.number,
                       .step_s = summary.measured->step_s_median,
                       .alike = found->alike,
                       .compute = {}};
    auto const works = db::analysis::bucket_work(found->run.steps);
    auto const& chosen = planned.decision.chosen;
    for (auto const& bucket : chosen.buckets) {
        trained.compute.push_back(compute_of(bucket, chosen, summary, works));
    }
    return trained;
}

}  // namespace osora::cli
